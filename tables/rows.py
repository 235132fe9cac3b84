"""All rows of the paper's tables: their configurations, the commands that run them, and their parameter counts.

python -m train.rows                  every row, its configuration file and its command
python -m train.rows --check_params   builds every net and compares its number of parameters with the printed one
"""

import argparse
import csv
import sys
from pathlib import Path
from types import SimpleNamespace

from data.catalogue import CATALOGUE
from train.signals import end_with_pipe
from train.table import PAPER, config_files

from nets import build_net, count_parameters
from train.config import Config

ROOT = Path(__file__).resolve().parent.parent
TABLES = (2, 3, 4, 6, 7, 8)

# Rows that have no configuration, and why.
WITHOUT_CONFIG = {
    **dict.fromkeys(
        [f"T2-COLLAB-{m}" for m in ("RingGNN-L2-100k", "RingGNN-L2-500k", "RingGNN-L8-500k")]
        + [f"T2-COLLAB-{m}" for m in ("3WLGNN-L3-100k", "3WLGNN-L3-500k", "3WLGNN-L8-500k")],
        "OOM in the paper, which prints neither width nor count: a dense tensor over 235,868 nodes has 5.6e10 entries a channel",
    )
}


def printed_rows():
    """{row: its line of the paper's tables (test split)} in the order of the tables; the two seeds of Table 6 are one row."""
    rows = {}
    for table in TABLES:
        (path,) = PAPER.glob(f"table{table}_*.csv")
        with open(path, newline="") as file:
            for line in csv.DictReader(file):
                rows.setdefault(line["row_id"].removesuffix("-seed1").removesuffix("-seed2"), line)
    return rows


def command(path):
    """The command that runs a configuration."""
    main = f"main_{path.parent.name}.py"
    return f"python {main} --config {path.stem}" + ("" if (ROOT / main).exists() else f"    ({main} is not there yet)")


def build(path):
    """The net of a configuration file, for a dataset as the catalogue describes it."""
    config = Config.model_validate_json(path.read_text())
    entry = CATALOGUE[config.dataset]
    return build_net(
        config.net, entry.features(config.net.n_eigenvectors), SimpleNamespace(level=entry.level, n_out=entry.n_out)
    )


def list_rows():
    files = config_files()
    for row in printed_rows():
        if row in WITHOUT_CONFIG:
            print(f"{row}\n    no configuration: {WITHOUT_CONFIG[row]}")
        for path in files.get(row, []):
            print(f"{row}\n    {path.relative_to(ROOT)}\n    {command(path)}")


def check_params():
    """True when every printed count is the count of the net; prints a line a configuration."""
    files, agreeing, printed_counts, wrong = config_files(), 0, 0, []
    print(f"{'row':40} {'printed':>9} {'counted':>9}")
    for row, line in printed_rows().items():
        if row not in files:
            reason = WITHOUT_CONFIG.get(row)
            print(f"{row:40} {line['params'] or '-':>9} {'-':>9}  {reason or 'no configuration'}")
            wrong += [] if reason else [row]
        for path in files.get(row, []):
            counted = count_parameters(build(path))
            is_count = line["params"].isdigit()
            agrees = counted == int(line["params"]) if is_count else None
            printed_counts, agreeing = printed_counts + is_count, agreeing + bool(agrees)
            wrong += [row] if agrees is False else []
            remark = {True: "agree", False: "DIFFER", None: "no count is printed"}[agrees]
            name = f" ({path.stem})" if len(files[row]) > 1 else ""
            print(f"{row:40} {line['params'] or '-':>9} {counted:9}  {remark}{name}")
    print(f"{agreeing} of {printed_counts} printed counts agree")
    return not wrong


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m train.rows", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--check_params", action="store_true", help="count the parameters of every net; exit 1 if any differs"
    )
    if parser.parse_args(argv).check_params:
        return 0 if check_params() else 1
    list_rows()
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
