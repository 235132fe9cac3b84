#!/usr/bin/env bash
# Installs what the tests need and runs them all. Arguments go to pytest:   bash test.sh tests/layers -k GCN
# With --oldest as the first argument they run with requirements-oldest.txt, in an environment of its own (.venv-oldest, 6 GB).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${GNN_VENV:-$here/.venv}
if [ "${1:-}" = --oldest ]; then
  shift
  venv=${venv%/}
  venv=${venv%-oldest}-oldest
fi
python=$(GNN_VENV=$venv bash "$here/install.sh" requirements-test.txt)
export GNN_VENV=${python%/bin/python} # for the scripts that tests start
cd "$here"
exec "$python" -m pytest "$@"
