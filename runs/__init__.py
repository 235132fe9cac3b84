"""Runs and their results: identity, folder, files, result, ledger, the table files of configs/. Neither torch nor dgl is
needed here."""

import importlib.util
import sys

if importlib.util.find_spec("filelock") is None:
    sys.exit(
        f"{sys.executable} has not what this project needs: run bash install.sh requirements.txt and use .venv/bin/python"
    )
