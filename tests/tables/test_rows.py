"""Every line of the tables has a row or a reason, and the list names file and command."""

import pytest

from runs.table_files import ROOT, find_table, table_files
from tables import rows
from tables.declare import lines_of
from tables.papers import PAPERS, benchmarking_gnns, declaration

TABLES = {table.name: table for table in benchmarking_gnns.PAPER.tables}


def printed_lines(name):
    """The lines of a table that the paper prints; the two seeds of Table 6 are one row."""
    return [line for line in lines_of(find_table(name), TABLES[name]) if line.number in (None, 1)]


def test_every_table_of_a_paper_has_a_file_and_a_declaration():
    """A file of your own needs none."""
    declared = {(paper.name, table.name) for paper in PAPERS for table in paper.tables}
    files = [file for file in table_files().values() if file.paper in {paper.name for paper in PAPERS}]
    assert declared == {(file.paper, file.name) for file in files}
    assert all(declaration(file)[1].name == file.name and file.path.parent.name == file.paper for file in files)


def test_the_tables_have_249_results_of_222_rows():
    """Tables 2, 3, 4, 6, 7, 8: 123 + 16 + 16 + 27 + 28 + 12, the two results of Table 2's legend among them."""
    counts = dict.fromkeys("234678", 0)
    for name, table in TABLES.items():
        counts[table.number] += len(printed_lines(name))
    assert counts == {"2": 123, "3": 16, "4": 16, "6": 27, "7": 28, "8": 12}
    assert sum(len(table.printed()) for table in TABLES.values()) == 249


@pytest.mark.parametrize("name", TABLES)
def test_every_line_has_a_row_or_a_reason(name):
    lines = printed_lines(name)
    assert all(line.printed for line in lines)  # no row stands for a line that the paper does not have
    assert {line.name for line in lines if not line.asked} == set(TABLES[name].without_rows)
    pooled = [line.name for line in lines if len(line.rows) > 1]
    assert pooled == (["MP-GNNs-none-L4"] if name == "table3" else [])
    assert {line.dataset for line in lines} <= {
        "ENZYMES",
        "DD",
        "PROTEINS",
        "CSL",
        *(n.partition("_")[2] for n in TABLES),
        "COLLAB",
    }


def test_the_list_names_table_file_and_command(capsys):
    assert rows.main([]) == 0
    listed = [line.split() for line in capsys.readouterr().out.splitlines()]
    command = ["python", "main_CSL.py", "--config", "table3/GCN-LapPE-L4"]
    assert ["table3/GCN-LapPE-L4", "configs/benchmarking_gnns/table3.json", *command] in listed
    named = [line[0] for line in listed[1:]]
    assert all(f"{file.name}/{row}" in named for file in table_files().values() for row in file.rows)
    assert rows.main(["table4_TSP"]) == 0 and len(capsys.readouterr().out.splitlines()) == 1 + 8


def test_a_file_of_your_own_is_named_by_its_path(tmp_path, capsys):
    (tmp_path / "my.json").write_text('{"main": "CSL", "seeds": [1], "rows": {"a": {"dataset": "CSL"}}}')
    rows.main([str(tmp_path / "my.json")])
    assert f"python main_CSL.py --config {tmp_path}/my.json/a" in capsys.readouterr().out


def test_commands_that_do_not_exist_yet_say_so(tmp_path, capsys):
    (tmp_path / "my.json").write_text('{"main": "Mine", "seeds": [1], "rows": {"a": {"dataset": "CSL"}}}')
    rows.main([str(tmp_path / "my.json")])
    assert "(main_Mine.py is not there yet)" in capsys.readouterr().out and not (ROOT / "main_Mine.py").exists()
