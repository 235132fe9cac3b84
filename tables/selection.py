"""All configurations of a model selection and the chosen one: python -m tables.selection out/DATASET/NAME-ID

A folder of one seed or fold works too, and a selection that is still running: its trainings so far are shown.
"""

import argparse
import json
import sys
from pathlib import Path

from runs.files import RunError, read_json
from runs.ledger import SELECTION, Ledger
from runs.signals import end_with_pipe
from tables.summary import selection_report


def read_outcomes(folder):
    """(name, grid, outcomes) of the selections below a folder, all of one configuration."""
    folds = sorted({path.parent for path in folder.glob(f"**/{SELECTION}") if not path.parent.name.startswith("part_")})
    folds += sorted({path.parent.parent for path in folder.glob(f"**/part_*/{SELECTION}")} - set(folds))
    folds = [fold for fold in folds if "replaced-" not in str(fold)]
    if not folds:
        raise SystemExit(f"{folder}: no selection below it: name the folder of one, out/DATASET/NAME-ID")
    ids, grid, outcomes = set(), None, []
    for fold in folds:
        ledgers = [fold / SELECTION, *sorted(fold.glob(f"part_*/{SELECTION}"))]
        lines = {key: line for path in reversed(ledgers) if path.exists() for key, line in Ledger(path).lines.items()}
        outcomes.append((read_json(fold / "result.json"), lines))
        written = read_json(fold / "config.json") or {}
        grid = grid or written.get("config", {}).get("grid")
        ids.add(json.dumps(written.get("id")))
    if grid is None:
        raise SystemExit(f"{folder}: parts of a grid alone so far: the command without --part makes the selection")
    if len(ids - {"null"}) > 1:
        raise SystemExit(f"{folder}: expected the runs of one configuration, found {len(ids)}: name the folder of one")
    results = [result for result, _ in outcomes if result]
    return results[0]["name"] if results else folds[0].parent.parent.name, grid, outcomes


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tables.selection", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder of a configuration, below out/")
    try:
        print(selection_report(*read_outcomes(parser.parse_args(argv).folder)))
    except RunError as error:
        raise SystemExit(str(error)) from None
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
