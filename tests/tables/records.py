"""Hand-made results of rows, whole and with the right checksum."""

from runs.identity import hash_of, identity
from runs.measures import ACCURACY, AUROC, F1, MACRO_F1, MAE, hits
from runs.result import FORMAT, as_lines, signed
from runs.table_files import find_row, with_changes
from tables.table import table_view

MEASURES = {m.name: m for m in (ACCURACY, AUROC, F1, MACRO_F1, MAE, hits("Hits@50"), hits("Hits@50_paper"))}


def base(row, seed, fold, changes, measures):
    row = find_row(row)
    config = identity(with_changes(row.config, changes or {}))
    return {
        "format": FORMAT, "id": hash_of(config), "name": str(row), "config": config,
        "measures": [MEASURES[m]._asdict() for m in measures], "seed": seed, "fold": fold, "status": "ok", "params": 103847,
        "epochs": 100 + seed, "epoch_time_s": 0.5, "total_time_hr": 0.1, "dataset": {"name": "D", "hash": "1"},
        "finished": "2025-01-01T00:00:00+00:00",
    }  # fmt: skip


def result(row, seed, value, fold=0, status="ok", train=100.0, metric="accuracy", changes=None, **more):
    """A run of a row; `metric` may be {"Hits@50": 30.0, ...} for several in the place of `value`."""
    test = metric if isinstance(metric, dict) else {metric: value}
    other = dict.fromkeys(test, train)
    metrics = {"last": {"train": {"loss": 0.0, **other}, "test": {"loss": 0.0, **test}}}
    made = base(row, seed, fold, changes, test) | {"status": status, "select": "last"}
    return signed(made | {"metrics": metrics if status == "ok" else None} | more)


def counts(basic, regular, extension, cfi):
    numbers = {"Basic": basic, "Regular": regular, "Extension": extension, "CFI": cfi}
    return {"distinguished": {**numbers, "Total": sum(numbers.values())}, "by_part": {}}


def pair_result(row, metrics, select, seed=100, changes=None):
    n_pairs = {"Basic": 60, "Regular": 140, "Extension": 100, "CFI": 100, "Total": 400}
    made = base(row, seed, 0, changes, ()) | {"select": select, "metrics": metrics, "n_pairs": n_pairs}
    return signed(made | {"params": None, "epochs": None, "epoch_time_s": None, "total_time_hr": 0.5})


def of_net(row, numbers, seed=100, failures=0, by_text=None, changes=None):
    program = {**counts(*numbers), "reliability_failures": failures, "diverged": 0}
    text = {**counts(*(by_text or numbers)), "reliability_failures": 20, "diverged": 0}
    return pair_result(row, {"program": program, "text": text}, "program", seed, changes)


def save(folder, *results):
    """One file of lines, as in results/."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "made.jsonl").write_text(as_lines(results))


def row_of(name, results, row, **options):
    """{header: text} of one line of a table."""
    return cells_of(table_view(name, results, **options), row)


def cells_of(view, row):
    columns = view.columns()
    k = [cell.text for cell in columns[0].cells].index(row)
    return {column.header: column.cells[k].text + column.cells[k].mark for column in columns}
