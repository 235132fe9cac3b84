"""Builds the net of every row of Benchmarking Graph Neural Networks and compares its number of parameters with the printed one.

python -m tools.check_params      a line per row; exit 1 if a count differs or a row is missing
"""

import argparse
import sys

from data.registry import declared
from nets import build_net, count_parameters
from runs.signals import end_with_pipe
from runs.table_files import table_files
from tables.declare import lines_of
from tables.papers.benchmarking_gnns import PAPER
from train.config import Config


def build(row):
    """The net of a row, for a dataset as its class declares it."""
    config = Config.model_validate(row.config)
    known = declared(config.dataset)
    return build_net(config.net, known.features, known.target)


def printed_rows():
    """[(table, printed line)] of all tables; a row that has a line per seed has one."""
    lines = ((table, line) for table in PAPER.tables for line in lines_of(table_files()[table.name], table))
    return [(table, line) for table, line in lines if line.number in (None, 1)]


def main(argv=None):
    argparse.ArgumentParser(prog="python -m tools.check_params", description=__doc__).parse_args(argv)
    agreeing, printed_counts, wrong = 0, 0, False
    print(f"{'row':40} {'printed':>9} {'counted':>9}")
    for table, line in printed_rows():
        name, text = f"{table.name}/{line.name}", line.printed["params"].text
        if not line.rows:
            reason = table.without_rows.get(line.name)
            print(f"{name:40} {text:>9} {'-':>9}  {reason or 'no row'}")
            wrong = wrong or reason is None
        for row in line.rows:
            counted = count_parameters(build(row))
            agrees = counted == int(text) if text.isdigit() else None
            remark = {True: "agree", False: "DIFFER", None: "no count is printed"}[agrees]
            printed_counts, agreeing, wrong = (
                printed_counts + text.isdigit(),
                agreeing + bool(agrees),
                wrong or agrees is False,
            )
            print(f"{name:40} {text:>9} {counted:9}  {remark}" + (f" ({row.name})" if len(line.rows) > 1 else ""))
    print(f"{agreeing} of {printed_counts} printed counts agree")
    return 1 if wrong else 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
