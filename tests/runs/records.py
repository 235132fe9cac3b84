"""Records of runs as they are written, for the tests: of a training and of a run over pairs."""

from runs.identity import hash_of, identity
from runs.measures import ACCURACY
from runs.result import FORMAT, signed
from runs.table_files import find_row

MADE_WITH = {
    "device": "cpu",
    "threads": 1,
    "versions": {"python": "3.11.7", "torch": "2.13.0+cpu"},
    "commit": "0f0206c654e3b5f2574b37f03d0be179015b39d1",
    "host": {"system": "Linux", "cpu": "AMD EPYC", "cores": 2, "gpu": None},
}


def record(
    row="table3/GCN-LapPE-L4", seed=41, fold=0, accuracy=50.0, finished="2026-01-01T00:00:00+00:00", changes=(), **more
):
    """The result of a run of a row."""
    row = find_row(row)
    config = identity(row.changed(dict(changes)))
    metrics = {part: {"loss": 0.25, "accuracy": accuracy} for part in ("train", "val", "test")}
    content = {
        "format": FORMAT,
        "id": hash_of(config),
        "name": str(row),
        "config": config,
        "measures": [ACCURACY._asdict()],
        "seed": seed,
        "fold": fold,
        "status": "ok",
        "stopped_by": "min_lr",
        "select": "last",
        "metrics": {"last": metrics, "best_val": metrics},
        "best_val_epoch": 3,
        "params": 1000,
        "epochs": 30,
        "epoch_time_s": 0.5,
        "total_time_hr": 0.0042,
        "dataset": {"name": "CSL", "hash": "abc"},
        **MADE_WITH,
        "finished": finished,
    }
    return signed(content | more)


def pair_record(row="brec_table2/3-WL", seed=0, **more):
    """The result of a run over pairs of graphs."""
    counts = {"distinguished": {"Basic": 3, "Regular": 2, "Total": 5}, "by_part": {"Basic": 3, "simple regular": 2}}
    of_pairs = {
        "select": "exact",
        "measures": [],
        "metrics": {"exact": counts},
        "n_pairs": {"Basic": 3, "Regular": 4, "Total": 7},
        "params": None,
        "epochs": None,
        "epoch_time_s": None,
        "stopped_by": "all pairs",
        "dataset": {"name": "BREC", "hash": "abc"},
    }
    content = record(row, seed) | of_pairs | more
    del content["best_val_epoch"]
    return signed(content)


def changed(record, *place, value):
    """A copy with one value replaced, signed anew: as a program with a mistake would have written it."""
    content = dict(record)
    here = content
    for key in place[:-1]:
        here[key] = dict(here[key]) if isinstance(here[key], dict) else list(here[key])
        here = here[key]
    here[place[-1]] = value
    return signed(content)


def damaged(record, *place, value):
    """The same without a new checksum: as a flipped bit leaves it."""
    return changed(record, *place, value=value) | {"sum": record["sum"]}
