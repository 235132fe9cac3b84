"""What is generated in docs/ and results/ is what the code and the result files say now."""

from train.result_files import ROOT, read_results
from train.table import config_files

from docs import make_models, make_reproduce


def test_the_page_of_the_models_is_up_to_date():
    assert make_models.main(["--check"]) == 0, "run: python -m docs.make_models"


def test_the_pages_of_the_results_are_up_to_date():
    assert make_reproduce.main(["--check"]) == 0, "run: python -m docs.make_reproduce"


def test_our_results_are_of_the_configurations_as_they_are_now():
    """A row whose file was changed must be run again."""
    results, problems = read_results([ROOT / "results"])
    assert results and not problems


def test_what_a_table_costs():
    """Table 7, CSL: six rows of 20 seeds x 5 folds; 0.05 + 0.09 + 0.16 + 0.12 + 0.05 + 0.08 hours a seed are printed."""
    cells = make_reproduce.overview("table7_CSL", [], config_files())
    assert cells[1:4] == ("6", "600", "11") and cells[4:] == ("-", "none yet", "-")


def test_a_stale_page_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(make_reproduce, "ROOT", tmp_path)
    monkeypatch.setattr(make_reproduce, "RESULTS", tmp_path)
    monkeypatch.setattr(make_reproduce, "pages", lambda: {tmp_path / "page.md": "new"})
    (tmp_path / "page.md").write_text("old")
    assert make_reproduce.main(["--check"]) == 1 and "page.md is not what" in capsys.readouterr().out
    (tmp_path / "table9.md").write_text("of results that are gone")
    make_reproduce.main([])
    assert make_reproduce.main(["--check"]) == 0 and not (tmp_path / "table9.md").exists()
