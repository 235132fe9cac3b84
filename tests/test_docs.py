"""What is generated in docs/ and results/ is what the code and the result files say now."""

import json

from docs import make_models, make_reproduce
from train.config import ROOT, Config, changed_keys, identity, validate
from train.pair_config import schema_of
from train.table import config_files


def test_the_page_of_the_models_is_up_to_date():
    assert make_models.main(["--check"]) == 0, "run: python -m docs.make_models"


def test_the_pages_of_the_results_are_up_to_date():
    assert make_reproduce.main(["--check"]) == 0, "run: python -m docs.make_reproduce"


def test_our_results_are_of_the_configurations_as_they_are_now():
    """A row whose file was changed must be run again: its old results would be counted as if they were of the new one."""
    stale, paths = [], sorted((ROOT / "results").rglob("result.json"))
    for path in paths:
        result = json.loads(path.read_text())
        (file,) = (ROOT / "configs").glob(f"*/{result['name'].split('+')[0]}.json")
        content = json.loads(file.read_text())
        row = identity(validate(content, file, schema_of(content) if file.parent.name == "BREC" else Config))
        changed = changed_keys(row, result["config"])
        changed.pop("seed", None)
        if sorted(f"{key}={value}" for key, value in changed.items()) != sorted(result["name"].split("+")[1:]):
            stale.append(f"{path.relative_to(ROOT)}: {changed}")
    assert paths and not stale


def test_what_a_table_costs():
    """Table 7, CSL: six rows of 20 seeds x 5 folds; 0.05 + 0.09 + 0.16 + 0.12 + 0.05 + 0.08 hours a seed are printed."""
    cells = make_reproduce.overview("table7_CSL", [], config_files())
    assert cells[1:4] == ("6", "600", "11") and cells[4:] == ("-", "none yet", "-")


def test_a_stale_page_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(make_reproduce, "ROOT", tmp_path)
    monkeypatch.setattr(make_reproduce, "pages", lambda: {tmp_path / "page.md": "new"})
    (tmp_path / "page.md").write_text("old")
    assert make_reproduce.main(["--check"]) == 1 and "page.md is not what" in capsys.readouterr().out
    make_reproduce.main([])
    assert make_reproduce.main(["--check"]) == 0
