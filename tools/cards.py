"""Cards of datasets for the web report: what data.card prints and draws, one JSON file and at most one picture per dataset.

python -m tools.cards --out cards                         of all datasets of the tables; see below
python -m tools.cards --out cards ENZYMES ZINC-rebuilt    these whole as well; their raw files must be at hand

A dataset with results in results/ is made whole when its raw files are at hand, one that can be made in part from a few graphs of
each split, of which only the picture is kept. Of any other the card says what it is and what the paper counts.
"""

import argparse
import inspect
import json
import sys
import textwrap
from pathlib import Path

from data.card import card, draw, paper_row, statistics
from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.registry import DATASETS, PREFIX, TUDataset, open_dataset
from runs.collect import RESULTS, read_results
from runs.table_files import table_files

LIMIT = 2  # graphs per split of a dataset that can be made in part
LARGEST = 1000  # nodes of a graph that is drawn: more take minutes and show nothing
SMALL = ("CSL",)  # made whole in seconds, from nothing


def of_tables():
    """The datasets that rows of the papers' tables name, and those that have results."""
    rows = {row.config.get("dataset") for file in table_files().values() for row in file.rows.values()}
    return {name for name in rows | with_results() if name in DATASETS or str(name).startswith(PREFIX)}


def with_results():
    return {record["config"].get("dataset") for record in read_results([RESULTS])[0]}


def in_part(name):
    """Whether a few graphs of it can be made without the others."""
    return getattr(DATASETS.get(name), "generated", False)


def card_of(name, whole, out):
    """{"name": ..., "text": ..., "whole": ..., "picture": its file or None}; the picture is drawn into `out`."""
    made_of_few = in_part(name) and not whole
    dataset = open_dataset(name, DataConfig(offline=True, limit=LIMIT if made_of_few else None))
    picture = f"{name.replace('/', '_')}.png" if dataset.store.header["counts"]["max_nodes"] <= LARGEST else None
    if picture:
        draw(dataset, out / picture)
    if made_of_few:
        printed = [(what, paper) for what, paper, _ in statistics(dataset) if paper != "-"]
        return {"name": name, "text": described(name, printed), "whole": False, "picture": picture}
    text = "\n".join(line for line in card(dataset).splitlines() if not line.startswith("folder: "))
    return {"name": name, "text": text, "whole": True, "picture": picture}


def described(name, printed):
    """What a dataset is, and what is printed about it: [(what, number), ...]."""
    made_by = DATASETS.get(name, TUDataset)
    about = inspect.getmodule(getattr(made_by, "func", made_by)).__doc__
    width = max((len(what) for what, _ in printed), default=0)
    lines = [f"{what:<{width}}  {number}" for what, number in printed]
    return "\n".join(
        [name, "", *textwrap.dedent(about).strip().splitlines(), *["", "in the paper"] * bool(lines), *lines]
    )


def counts_of_paper(name):
    """What Table 5 of Benchmarking Graph Neural Networks prints of it."""
    row = paper_row("table5_dataset_statistics.csv", name)
    return [(what.replace("_", " "), text) for what, text in row.items() if text and what not in ("table", "dataset")]


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tools.cards", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="datasets to be made whole, beside those with results")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    asked, missing = [*SMALL, *arguments.names], []
    made = {*asked, *with_results()}  # as far as they are at hand
    names = list(dict.fromkeys([*asked, *sorted(of_tables())]))
    for name in names:
        content = {"name": name, "text": described(name, counts_of_paper(name)), "whole": False, "picture": None}
        try:
            if name in made or in_part(name):
                content = card_of(name, name in asked, arguments.out)
        except (DataError, StoreError) as error:
            if name in asked:
                missing.append(name)
                print(f"{name}: {error}", file=sys.stderr)
                continue
        (arguments.out / f"{name.replace('/', '_')}.json").write_text(json.dumps(content, indent=1))
    pictures = len(list(arguments.out.glob("*.png")))
    print(f"{len(names) - len(missing)} cards in {arguments.out}, {pictures} with a picture")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
