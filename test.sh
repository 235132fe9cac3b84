#!/usr/bin/env bash
# Installs what the tests need and runs them all. Arguments go to pytest:   bash test.sh tests/layers -k GCN
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bash "$here/install.sh" requirements-test.txt
cd "$here"
exec .venv/bin/python -m pytest "$@"
