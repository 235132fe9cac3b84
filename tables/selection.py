"""All configurations of a model selection and the chosen one: python -m tables.selection out/DATASET/NAME-ID

A folder of one seed or fold works too, and a selection that is still running: its trainings so far are shown.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import mean, pstdev

from runs.files import RunError, read_json
from runs.ledger import Ledger
from runs.measures import Measure
from runs.naming import as_text
from runs.signals import end_with_pipe
from runs.table_files import expand
from tables.formats import aligned
from tables.summary import row_report

LEDGER = "selection.jsonl"


def selection_report(name, grid, outcomes):
    """The table of all configurations, then scores and costs of the chosen ones. `outcomes` has (result or None, lines of the
    ledger) of each seed and fold."""
    results = [result for result, _ in outcomes if result]
    if not outcomes:
        return f"{name}: this part of the grid is trained; the command without --part uses it"
    text = selection_table(name, grid, outcomes)
    return "\n\n".join([text, row_report(name, results)]) if results else text


def selection_table(name, grid, outcomes):
    configurations, measure = expand(grid), measure_of(outcomes)
    rows = [("", *grid, f"val {measure.name}{measure.unit}", "chosen")]
    for i, changes in enumerate(configurations):
        lines = [lines[str(i)] for _, lines in outcomes if str(i) in lines]
        rows.append((str(i), *map(as_text, changes.values()), score_text(lines, measure), chosen_text(i, outcomes)))
    trained = sum(str(i) in lines for i in range(len(configurations)) for _, lines in outcomes)
    title = (
        f"{name}: {len(configurations)} configurations, {trained} of {len(configurations) * len(outcomes)} trainings are made. "
        "The best validation is chosen, of equal ones the last."
    )
    return "\n".join([title, "", *aligned(rows)])


def measure_of(outcomes):
    """What the configurations are compared by: the first measure of a result, or before there is one that of a line."""
    for result, lines in outcomes:
        if result:
            return Measure(**result["measures"][0])
        for line in lines.values():
            if line.get("val"):
                return Measure(next(key for key in line["val"] if key != "loss"), "max")
    return Measure("score", "max")


def score_text(lines, measure):
    """'61.250 ± 2.100' over the folds, and what became of trainings that do not count."""
    counting = [line for line in lines if line["val"] and line["status"] in ("ok", "Diverged")]
    values = [line["val"][measure.name] for line in counting]
    text = f"{mean(values):.{measure.digits}f}" if values else ""
    text += f" ± {pstdev(values):.{measure.digits}f}" if len(values) > 1 else ""
    return " ".join([text, *dict.fromkeys(line["status"] for line in lines if line not in counting)]).strip()


def chosen_text(i, outcomes):
    """'* fold 0, 3' for the folds in which configuration i was selected."""
    chosen = [result for result, _ in outcomes if result and result["selected"] == i]
    several = len({result["seed"] for result, _ in outcomes if result}) > 1
    places = [f"{'seed ' + str(r['seed']) + ' ' if several else ''}fold {r['fold']}" for r in chosen]
    return "* " + ", ".join(places) if places else ""


# --------------------------------------------------------------------------------------------------------------------
# From the files


def read_outcomes(folder):
    """(name, grid, outcomes) of the selections below a folder, all of one configuration."""
    folds = sorted({path.parent for path in folder.glob(f"**/{LEDGER}") if not path.parent.name.startswith("part_")})
    folds += sorted({path.parent.parent for path in folder.glob(f"**/part_*/{LEDGER}")} - set(folds))
    folds = [fold for fold in folds if "replaced-" not in str(fold)]
    if not folds:
        raise SystemExit(f"{folder}: no selection below it: name the folder of one, out/DATASET/NAME-ID")
    ids, grid, outcomes = set(), None, []
    for fold in folds:
        ledgers = [fold / LEDGER, *sorted(fold.glob(f"part_*/{LEDGER}"))]
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
