"""Figure 2 of the Taxonomy: a graph under each perturbation."""

import pytest

from tools import perturbations


def test_every_perturbation_has_a_panel(csl):
    graph = perturbations.graph_of(csl, 0)
    found = {name: g for name, g, _ in perturbations.panels(csl.store, graph)}
    assert list(found) == ["as it is", "NoNodeFtrs", "NodeDeg", "LowPass", "MidPass", "HighPass", "NoEdges", "FullyConn",
                           "Frag-k1", "Frag-k2", "Frag-k3", "FiedlerFrag"]  # fmt: skip
    assert len(found["FullyConn"].src) == graph.n * (graph.n - 1) and not len(found["NoEdges"].src)
    assert 0 < len(found["Frag-k1"].src) < len(found["Frag-k3"].src) <= len(graph.src)


def test_the_picture_and_its_mistakes(csl, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(perturbations, "open_dataset", lambda name, config: csl)
    path = tmp_path / "figure2.png"
    assert perturbations.main(["CSL", "--save", str(path)]) == 0 and path.read_bytes().startswith(b"\x89PNG")
    for words, message in ((["--graph", "150"], "CSL has graphs 0 to 149"), (["--save", "x.doc"], ".png or .svg")):
        with pytest.raises(SystemExit):
            perturbations.main(["CSL", "--save", str(path), *words])
        assert message in capsys.readouterr().err


def test_the_features_are_those_of_the_paper():
    assert perturbations.data_keys("TU/ENZYMES") == {"features": "attributes+labels"}
    assert perturbations.data_keys("CSL") == {}
