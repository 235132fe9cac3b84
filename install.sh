#!/usr/bin/env bash
# Makes .venv beside this file and installs a requirements file into it. Does nothing, and needs no network, when that was done before.
# Usage: bash install.sh requirements.txt      PYTHON=/path/to/python3.11 chooses the interpreter.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here"
requirements=$1
[ -f "$requirements" ] || { echo "install.sh: $requirements: no such file" >&2; exit 2; }

find_python() {
  local name
  for name in ${PYTHON:+"$PYTHON"} python3.11 python3 python; do
    if "$name" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
      command -v "$name"
      return
    fi
  done
  echo "install.sh: Python 3.11 is needed and was not found. Install it, or name it: PYTHON=/path/to/python3.11 bash run.sh" >&2
  exit 2
}

# one installation at a time, when run.sh and test.sh are started together
exec 9> .install.lock
if command -v flock > /dev/null; then flock 9; fi

# a stamp that names what is installed; written last, so a broken-off installation is taken up again
wanted=$(cat requirements*.txt | cksum | cut -d' ' -f1)
stamp=".venv/installed-$requirements-$wanted"
python=.venv/bin/python
if [ -f "$stamp" ] && "$python" -c '' 2> /dev/null; then exit 0; fi
if ! "$python" -c 'import sys, pip; sys.exit(sys.version_info[:2] != (3, 11))' 2> /dev/null; then
  found=$(find_python)
  rm -rf .venv
  echo "Making .venv with $found ..." >&2
  "$found" -m venv .venv
fi
echo "Installing $requirements into .venv (some minutes the first time) ..." >&2
"$python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
# every requirements file includes requirements.txt
touch "$stamp" ".venv/installed-requirements.txt-$wanted"
