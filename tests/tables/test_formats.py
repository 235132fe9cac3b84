"""Names from files are texts, whatever stands in them."""

import csv
import io

import pytest

from tables.columns import Cell, Column
from tables.formats import FORMATS, aligned, clean, latex, markdown
from tables.table import runs_view
from tests.tables.records import result

NASTY = "a|b*c_d_ <i>`x` [l](u) $e$ & 100% #~^\\ {}\x1b[31m\n\u202e\u200b"


def test_aligned():
    assert aligned([("a", "bb"), ("ccc", "d")]) == ["a    bb", "ccc  d"]


def test_control_characters_are_shown_not_sent():
    assert clean("\x1b[31mred\r\n\t\x9b\u202e") == r"\x1b[31mred\r\n\t\x9b\u202e"
    assert clean("Δ ± 3-WL é 漢") == "Δ ± 3-WL é 漢"


def test_markdown_escapes():
    assert markdown("S_3 N_10 Rand_sign(EigVecs) 3-WL +0.5") == "S_3 N_10 Rand_sign(EigVecs) 3-WL +0.5"
    assert markdown("a|b") == r"a\|b" and markdown("_x_ **") == r"\_x\_ \*\*" and markdown("<b>[") == r"\<b\>\["


def test_latex_escapes():
    assert latex("S_3 & 100% ± Δ {x} ~^\\") == (
        r"S\_3 \& 100\% $\pm$ $\Delta$ \{x\} \textasciitilde{}\textasciicircum{}\textbackslash{}"
    )


@pytest.mark.parametrize("form", FORMATS)
def test_a_nasty_name_stays_in_its_cell(form):
    text = FORMATS[form](NASTY, [Column("row", [Cell(NASTY)]), Column("n", [Cell("1", (1,))])])
    assert not any(c in text for c in "\x1b\u202e\u200b")
    n_lines = {"text": 4, "markdown": 5, "csv": 2, "latex": 8}[form]
    assert len(text.splitlines()) == n_lines
    if form == "markdown":
        row = text.splitlines()[-1]
        assert row.count("|") - row.count("\\|") == 3
    if form == "csv":
        assert [len(row) for row in csv.reader(io.StringIO(text))] == [2, 2]
    if form == "latex":
        row = text.splitlines()[5]
        assert row.replace("\\&", "").count("&") == 1 and row.endswith(r" & 1 \\")


def test_marks():
    columns = [
        Column("row", [Cell("a"), Cell("b")]),
        Column("x", [Cell("1", (1,), "**"), Cell("2 ± 1", (2, 1), "*")], ("", "s.d.")),
    ]
    text, md, table, tex = (FORMATS[form]("t", columns) for form in ("text", "markdown", "csv", "latex"))
    assert "a    1**" in text and r"| a | 1\*\* |" in md and r"a & \textbf{1} \\" in tex and r"\emph{2 $\pm$ 1}" in tex
    assert table == 'row,x,"x, s.d."\na,1,\nb,2,1'


def test_stars_of_a_name_are_no_marks():
    view = runs_view(["out"], [result("table3/GCN-LapPE-L4", 1, 90.0, name="a**")])
    assert r"a** & \textbf{90.000}" in FORMATS["latex"](view.title, view.columns())
