#!/usr/bin/env bash
# Makes a virtual environment, installs a requirements file into it and prints its interpreter. When that was done before, it does
# nothing else and needs no network.
# Usage: python=$(bash install.sh requirements.txt)
#   GNN_VENV=FOLDER             the environment, instead of .venv beside this file. One whose name ends in -oldest gets
#                               requirements-oldest.txt; one that venv did not make, such as conda's, is used as it is
#   PYTHON=/path/to/python3.11  the interpreter that makes it
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$1
venv=${GNN_VENV:-$here/.venv}
venv=${venv%/}
case $venv in /*) ;; *) venv=$PWD/$venv ;; esac
case $venv in *-oldest) requirements=requirements-oldest.txt ;; esac
cd "$here"
[ -f "$requirements" ] || { echo "install.sh: $requirements: no such file" >&2; exit 2; }
python=$venv/bin/python

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

install() {
  if ! "$python" -c 'import sys, pip; sys.exit(sys.version_info[:2] != (3, 11))' 2> /dev/null; then
    local found
    found=$(find_python)
    rm -rf "$venv"
    echo "Making ${venv#"$here"/} with $found ..." >&2
    "$found" -m venv "$venv" >&2
  fi
  echo "Installing $requirements into ${venv#"$here"/} (some minutes the first time) ..." >&2
  "$python" -m pip install --quiet --disable-pip-version-check -r "$requirements" >&2
}

if [ -e "$venv" ] && [ ! -f "$venv/pyvenv.cfg" ]; then # not ours: nothing is installed into it, nor is it made again
  [ -x "$python" ] || { echo "install.sh: $venv: no environment, there is no bin/python; name another GNN_VENV" >&2; exit 2; }
  echo "$python"
  exit
fi

# one installation at a time, when run.sh and test.sh are started together
exec 9> "$(dirname "$venv")/.install.lock"
if command -v flock > /dev/null; then flock 9; fi

# a stamp that names what is installed; written last, so a broken-off installation is taken up again
wanted=$(cat requirements*.txt | cksum | cut -d' ' -f1)
stamp="$venv/installed-$requirements-$wanted"
if [ ! -f "$stamp" ] || ! "$python" -c '' 2> /dev/null; then
  install
  # the other files include requirements.txt
  touch "$stamp" "$venv/installed-requirements.txt-$wanted"
fi
echo "$python"
