#!/usr/bin/env bash
# The project's own runs: configs/evidence.json, in its order, at the lowest priority, one thread each. Stopped and started again, it goes
# on. Finished runs: .venv/bin/python -m runs.collect out      How far they are: .venv/bin/python -m tables.evidence
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$(bash "$root/install.sh" requirements-molecules.txt)
cd "$root"
OMP_NUM_THREADS=1 JOBS=${JOBS:-2} exec nice -n 19 "$python" -m launch.evidence "$@"
