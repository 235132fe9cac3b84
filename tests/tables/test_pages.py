"""docs/reproduce.md and the pages of results/ are what the results say now."""

import re

import pytest

from runs.collect import read_results
from runs.table_files import ROOT
from tables import pages
from tables.papers import PAPERS
from tests.tables.records import result, save

TABLES = {table.name: (paper, table) for paper in PAPERS for table in paper.tables}


def cells(name, results=()):
    return pages.overview(pages.tables_made(*TABLES[name], list(results)))


def test_the_pages_are_up_to_date():
    assert pages.main(["--check"]) == 0, "run: python -m tables.pages"


def test_our_results_are_whole():
    results, problems = read_results([ROOT / "results"])
    assert results and not problems


def test_what_a_table_costs():
    """Table 7, CSL: six rows of 20 seeds x 5 folds; 0.05 + 0.09 + 0.16 + 0.12 + 0.05 + 0.08 hours per seed are printed."""
    assert cells("table7_CSL")[1:] == ("6", "600", "11", "-", "none yet", "-")


def test_how_far_our_runs_are():
    runs = [result("table7_CSL/No_PE", seed, 10.0, train=10.0) for seed in (1, 2)]
    state = "[2 runs of 1 row](../results/benchmarking_gnns/table7_CSL.md)"
    assert cells("table7_CSL", runs)[4:] == ("10.0 (1 of 6 rows)", state, "1 of 1")  # 0.1 hours x 20 seeds x 5 folds


def test_both_datasets_that_stand_for_ZINC_have_a_page():
    runs = [
        result("table2_ZINC/GCN-L4", 41, value, metric="MAE", train=0.343, changes={"dataset": name})
        for name, value in (("ZINC-rebuilt", 0.459), ("ZINC-redrawn", 0.4))
    ]
    *_, state, agree = cells("table2_ZINC", runs)
    page = "../results/benchmarking_gnns/table2_ZINC_ZINC-"
    assert (
        state
        == f"[1 run of 1 row]({page}rebuilt.md) on ZINC-rebuilt, [1 run of 1 row]({page}redrawn.md) on ZINC-redrawn"
    )
    assert agree == "1 of 1"  # that of ZINC-rebuilt
    made = pages.tables_made(*TABLES["table2_ZINC"], runs)
    assert (
        len(made) == 2
        and pages.state_of_the_papers([made])[2] == "| Benchmarking Graph Neural Networks | 23 | 1 | 0 | 1 | 0 | 0 |"
    )


def test_the_last_line_counts_a_run_of_two_tables_once():
    """Tables 4 and 8 share eight rows of COLLAB with four seeds each: 48 runs, not 80."""
    both = [pages.tables_made(*TABLES[name], []) for name in ("table4_COLLAB", "table8")]
    alone = [cells(name)[1:4] for name in ("table4_COLLAB", "table8")]
    assert [a[:2] for a in alone] == [("8", "32"), ("12", "48")]
    assert pages.total(both)[1:4] == ("20", "48", alone[1][2])  # all of Table 4's are among Table 8's
    everything = [pages.tables_made(*pair, []) for pair in TABLES.values()]
    n_runs = sum(int(cells(name)[2]) for name, (_, t) in TABLES.items() if not t.variant and not t.of_other_tables)
    # 56: Tables 3 and A.2 of LRGB; 40: four rows of Figure 4 of the Taxonomy in the table of FiedlerFrag; of BREC 4 exact methods,
    # GSN, DropGNN and 13 nets of Table 7, ten seeds each
    assert int(pages.total(everything)[2]) == n_runs - 272 - 56 - 40 - (4 + 10 * (1 + 1 + 13))


def counted(*names, results):
    made = [one for name in names for one in pages.tables_made(*TABLES[name], results)]
    return list(pages.counts(made).values())


def test_a_row_of_two_tables_counts_once():
    """GatedGCN of Table 3 is "Abs" of Table 7: the same 100 runs, of which one table prints 99.6 ± 1.1, the other 99.4 ± 1.1."""
    seeds = pages.find_table("table3").rows["GatedGCN-LapPE-L4"].seeds
    found = [result("table3/GatedGCN-LapPE-L4", seed, 99.5, fold) for seed in seeds for fold in range(5)]
    assert counted("table3", results=found) == [16, 1, 1, 1, 0, 0]
    assert counted("table7_CSL", results=found) == [6, 1, 1, 1, 0, 0]
    assert counted("table3", "table7_CSL", results=found) == [21, 1, 1, 1, 0, 0]
    assert counted("table3", "table7_CSL", results=found[1:]) == [21, 1, 0, 1, 0, 0]


def test_a_row_differs_if_it_does_in_one_table():
    """97.3 is within two deviations of 99.433 ± 1.133, not of 99.600 ± 1.083."""
    found = [result("table3/GatedGCN-LapPE-L4", 12, 97.3, fold) for fold in range(5)]
    assert counted("table7_CSL", results=found) == [6, 1, 0, 1, 0, 0]
    assert counted("table7_CSL", "table3", results=found) == [21, 1, 0, 0, 1, 0]


def test_a_reduced_grid_is_of_the_same_rows_and_completes_none():
    rows = pages.find_table("fair_table3").rows
    found = [result("fair_table3_reduced/ENZYMES-GIN", 42, 50.0, fold) for fold in range(10)]
    assert counted("fair_table3", "fair_table3_reduced", results=found) == [len(rows), 1, 0, 0, 0, 1]


def test_a_stale_page_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    monkeypatch.setattr(pages, "pages", lambda: {tmp_path / "page.md": "new"})
    (tmp_path / "page.md").write_text("old")
    assert pages.main(["--check"]) == 1 and "page.md is not what" in capsys.readouterr().out
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper/table9.md").write_text("of results that are gone")
    assert pages.main(["--check"]) == 1
    pages.main([])
    assert pages.main(["--check"]) == 0 and not (tmp_path / "paper/table9.md").exists()


def test_a_page_names_the_command_that_makes_it(tmp_path, monkeypatch):
    save(tmp_path / "results", result("table2_ZINC/GCN-L4", 41, 0.4, metric="MAE", changes={"dataset": "ZINC-redrawn"}))
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results")
    made = pages.pages()
    (page,) = set(made) - {pages.PAGE, pages.README}
    assert str(page.relative_to(tmp_path)) == "results/benchmarking_gnns/table2_ZINC_ZINC-redrawn.md"
    command = "python -m tables.table table2_ZINC --dataset ZINC-redrawn --out_dir results --format markdown"
    assert made[page].endswith(f"Made by `{command}`.\n")


def test_README_has_a_line_per_paper_from_the_results(tmp_path, monkeypatch):
    """One row of Table 3 agrees, one does not; what stands around the marks stays."""
    rows = [result("table3/GCN-LapPE-L4", 14, 100.0), result("table3/MLP-LapPE-L4", 14, 0.0)]
    save(tmp_path / "results", *rows)
    monkeypatch.setattr(pages, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "README", tmp_path / "README.md")
    pages.README.write_text(f"before\n{pages.BEGIN}old\n{pages.END}\nafter\n")
    text = pages.pages()[pages.README]
    assert text.startswith(f"before\n{pages.BEGIN}| paper | rows | run | complete | agree |")
    assert text.endswith(f"\n{pages.END}\nafter\n")
    lines = text.splitlines()[4:-2]  # a head, a rule, then the papers
    assert re.fullmatch(r"\| Benchmarking Graph Neural Networks \| \d+ \| 2 \| 0 \| 1 \| 1 \| 0 \|", lines[0])
    assert len(lines) == 5 and all(line.endswith("| 0 | 0 | 0 | 0 | 0 |") for line in lines[1:])
    pages.README.write_text("no marks")
    with pytest.raises(SystemExit, match="put both lines back"):
        pages.pages()
