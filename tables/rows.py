"""All rows of all tables: their table file and the command that runs them.

python -m tables.rows                  every row
python -m tables.rows table2_ZINC      those of one table
"""

import argparse
import sys

from runs.signals import end_with_pipe
from runs.table_files import FOLDER, ROOT, find_table, table_files
from tables.declare import lines_of
from tables.formats import aligned
from tables.papers import declaration


def rows_of(file):
    """[(row, table file, command)]; of a printed line that no row stands for, why."""
    _, table = declaration(file)
    ours = file.path.is_relative_to(FOLDER)
    path, name = (file.path.relative_to(ROOT), file.name) if ours else (file.path, file.path)
    main = f"main_{file.main}.py"
    missing = "" if (ROOT / main).exists() else f"    ({main} is not there yet)"
    rows = [(f"{name}/{row}", str(path), f"python {main} --config {name}/{row}{missing}") for row in file.rows]
    without = [line.name for line in lines_of(file, table) if not line.asked]
    return rows + [(f"{name}/{line}", "-", table.without_rows.get(line, "no row yet")) for line in without]


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tables.rows", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", help="table3, table2_ZINC, ...; all when none is named")
    names = parser.parse_args(argv).tables
    files = [find_table(name) for name in names] or table_files().values()
    print("\n".join(aligned([("row", "table file", "command"), *(row for file in files for row in rows_of(file))])))
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
