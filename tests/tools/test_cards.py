"""Cards for the web report: a text and a picture per dataset; one that is not at hand is named."""

import json

from tools import cards


def test_a_card_is_text_and_picture(tmp_path, monkeypatch, store_dir):
    monkeypatch.setenv("GNN_STORES", store_dir)
    monkeypatch.setattr(cards, "made_in_part", lambda: ["PATTERN"])
    assert cards.main(["--out", str(tmp_path / "cards")]) == 0
    assert "\ngraphs" in (text := json.loads((tmp_path / "cards" / "CSL.json").read_text())["text"]) and "150" in text
    card = json.loads((tmp_path / "cards" / "PATTERN.json").read_text())
    assert card["name"] == "PATTERN" and "communities" in card["text"] and "folder:" not in card["text"]
    assert (tmp_path / "cards" / card["picture"]).read_bytes().startswith(b"\x89PNG")


def test_a_dataset_that_is_not_at_hand(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(cards, "made_in_part", list)
    monkeypatch.setattr(cards, "SMALL", ())
    assert cards.main(["--out", str(tmp_path), "NOTHING"]) == 1
    assert "NOTHING: no such dataset" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_dataset_that_is_made_whole_is_not_made_unasked():
    """Small-world-generated takes minutes, whatever the limit."""
    made = cards.made_in_part()
    assert "PATTERN" in made and not [name for name in made if name.startswith(("Small-world", "Scale-free"))]
