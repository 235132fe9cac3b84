#!/usr/bin/env bash
# From nothing to a row of Table 3: installs what is missing, generates CSL, trains GCN with Laplacian positional encodings
# on the 5 folds and prints the row, paper beside ours. Arguments go to main_CSL.py:
#   bash run.sh --model MLP        another model          bash run.sh --help        all keys
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=$(bash "$here/install.sh" requirements.txt)
exec "$python" "$here/main_CSL.py" "$@"
