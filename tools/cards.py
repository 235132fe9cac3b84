"""Cards of datasets for the web report: what data.card prints and draws, one JSON file and one picture per dataset.

python -m tools.cards --out cards                         CSL, and a few graphs of each dataset that can be made in part
python -m tools.cards --out cards ENZYMES ZINC-rebuilt    these as well; their raw files must be at hand
"""

import argparse
import json
import sys
from pathlib import Path

from data.card import card, draw
from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.registry import DATASETS, open_dataset

LIMIT = 2  # graphs per split of a dataset that can be made in part
SMALL = ("CSL",)  # made whole in seconds, from nothing


def made_in_part():
    """The datasets of which a few graphs can be made without the others; some need raw files or another program all the same."""
    return [name for name, dataset in DATASETS.items() if getattr(dataset, "generated", False)]


def write_card(name, out, config):
    """Write NAME.json and NAME.png."""
    stem = name.replace("/", "_")
    dataset = open_dataset(name, config)
    text = "\n".join(line for line in card(dataset).splitlines() if not line.startswith("folder: "))
    draw(dataset, out / f"{stem}.png")
    content = {"name": name, "text": text, "picture": f"{stem}.png"}
    (out / f"{stem}.json").write_text(json.dumps(content, indent=1))


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tools.cards", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="datasets beside the generated ones")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    asked, missing = [*SMALL, *arguments.names], []
    names = list(dict.fromkeys([*asked, *made_in_part()]))
    for name in names:
        try:
            write_card(name, arguments.out, DataConfig(offline=True, limit=None if name in asked else LIMIT))
        except (DataError, StoreError) as error:
            missing.append(name)
            if name in asked:
                print(f"{name}: {error}", file=sys.stderr)
    not_at_hand = f"; not at hand: {', '.join(missing)}" if missing else ""
    print(f"{len(names) - len(missing)} cards in {arguments.out}{not_at_hand}")
    return 1 if set(missing) & set(asked) else 0


if __name__ == "__main__":
    sys.exit(main())
