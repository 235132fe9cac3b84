"""Cards for the web report: a text and a picture per dataset; one that is not at hand is named."""

import json
import re

from tools import cards


def test_a_card_is_text_and_picture(tmp_path, monkeypatch, store_dir):
    monkeypatch.setenv("GNN_STORES", store_dir)
    monkeypatch.setattr(cards, "of_tables", lambda: {"PATTERN", "ZINC", "TU/MUTAG"})
    monkeypatch.setattr(cards, "with_results", set)
    assert cards.main(["--out", str(tmp_path / "cards")]) == 0
    assert "\ngraphs" in (text := json.loads((tmp_path / "cards" / "CSL.json").read_text())["text"]) and "150" in text
    card = json.loads((tmp_path / "cards" / "PATTERN.json").read_text())
    assert card["name"] == "PATTERN" and "communities" in card["text"] and "14000" in card["text"] and not card["whole"]
    assert not re.search("hash|class 0|folder:", card["text"])  # of the few graphs that were made for the picture
    assert (tmp_path / "cards" / card["picture"]).read_bytes().startswith(b"\x89PNG")
    zinc = json.loads((tmp_path / "cards" / "ZINC.json").read_text())
    assert "12000" in zinc["text"] and "molecule" in zinc["text"] and zinc["picture"] is None
    assert json.loads((tmp_path / "cards" / "TU_MUTAG.json").read_text())["name"] == "TU/MUTAG"


def test_a_dataset_that_is_not_at_hand(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cards, "of_tables", set)
    monkeypatch.setattr(cards, "SMALL", ())
    assert cards.main(["--out", str(tmp_path), "NOTHING"]) == 1
    assert "NOTHING: no such dataset" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_dataset_that_is_made_whole_is_not_made_unasked():
    """Small-world-generated takes minutes, whatever the limit."""
    assert cards.in_part("PATTERN") and not cards.in_part("Small-world-generated")
    assert {"PATTERN", "Small-world", "TU/MUTAG", "ZINC-rebuilt"} <= cards.of_tables()
