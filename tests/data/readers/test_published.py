"""The reader of published graphs hands out what is in a file, and nothing that is wrong."""

import zipfile

import numpy as np
import pytest
import torch

from data.errors import DataError
from data.readers.published import published_file, published_parts


def graph(n=4, seed=0, label="graph"):
    """A graph as in the published superpixels (label "graph"), SBM ("node") or TSP ("edge") files."""
    random = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(n, (2, 3 * n), generator=random)
    graph = {"x": torch.rand(n, 3, generator=random), "edge_index": edge_index, "pos": torch.rand(n, 2)}
    n_labels = {"graph": 1, "node": n, "edge": 3 * n}[label]
    return graph | {"edge_attr": torch.rand(3 * n), "y": torch.randint(2, (n_labels,), generator=random)}


def three_parts(**options):
    return [[graph(4, 0, **options), graph(5, 1, **options)], [graph(6, 2, **options)], [graph(7, 3, **options)]]


def saved(folder, content):
    torch.save(content, folder / "graphs.pt")
    return folder / "graphs.pt"


def read(path, **options):
    options = {"node_dim": 3, "label": "graph"} | options
    return {part: (n, list(graphs)) for part, n, graphs in published_parts(path, **options)}


@pytest.mark.parametrize("label", ["graph", "node", "edge"])
def test_graphs_come_as_they_were_saved(tmp_path, label):
    content = three_parts(label=label)
    found = read(saved(tmp_path, content), label=label, edge_dim=1, with_pos=True)
    assert {part: n for part, (n, _) in found.items()} == {"train": 2, "val": 1, "test": 1}
    for graphs, (_, read_graphs) in zip(content, found.values(), strict=True):
        for expected, got in zip(graphs, read_graphs, strict=True):
            for key in ("x", "edge_index", "pos"):
                assert np.array_equal(got[key], expected[key])
            assert np.array_equal(got["edge_attr"], expected["edge_attr"][:, None])
            assert np.array_equal(got["y"], expected["y"] if label != "graph" else expected["y"].item())
            assert got["y"].dtype == np.int64


def test_a_zip_gives_the_same_and_columns_may_be_flat_or_not(tmp_path):
    content = three_parts(label="node")
    plain = saved(tmp_path, content)
    with zipfile.ZipFile(tmp_path / "MNIST_v2.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(plain, "MNIST_v2.pt")
    for parts in content:
        for one in parts:
            one["edge_attr"], one["y"] = one["edge_attr"][:, None], one["y"][:, None]
    column = saved(tmp_path, content)
    from_zip = read(tmp_path / "MNIST_v2.zip", label="node", edge_dim=1)
    from_columns = read(column, label="node", edge_dim=1)
    for (_, a), (_, b) in zip(from_zip.values(), from_columns.values(), strict=True):
        assert all(np.array_equal(x[key], y[key]) for x, y in zip(a, b, strict=True) for key in x)


def test_what_is_not_asked_for_is_not_read(tmp_path):
    content = [[{key: value for key, value in graph().items() if key not in ("pos", "edge_attr")}]] * 3
    assert set(read(saved(tmp_path, content))["train"][1][0]) == {"x", "edge_index", "y"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": None}, "graph 1: x is missing, or no tensor"),
        ({"x": [1.0]}, r"x is missing, or no tensor \(found list\)"),
        ({"y": None}, "y is missing"),
        ({"pos": None}, "pos is missing"),
        ({"edge_attr": None}, "edge_attr is missing"),
        ({"x": torch.zeros(5, 2)}, r"x: shape \(5, 2\): expected \(nodes, 3\)"),
        ({"x": torch.zeros(0, 3)}, r"x: shape \(0, 3\)"),
        ({"x": torch.full((5, 3), torch.nan)}, "x: nan: expected finite"),
        ({"x": torch.zeros(5, 3, dtype=torch.complex64)}, "complex64: expected numbers"),
        ({"edge_index": torch.full((2, 15), 5)}, "edge_index: node 5: expected 0 to 4"),
        ({"edge_index": torch.full((2, 15), -1)}, "edge_index: node -1"),
        ({"edge_index": torch.zeros(3, 15)}, r"edge_index: shape \(3, 15\)"),
        ({"edge_index": torch.full((2, 15), 0.5)}, "edge_index: 0.5: expected integers"),
        ({"edge_attr": torch.zeros(14)}, r"edge_attr: shape \(14, 1\): expected \(15, 1\)"),
        ({"pos": torch.zeros(5, 3)}, r"pos: shape \(5, 3\)"),
        ({"y": torch.tensor([0, 1])}, r"y: shape \(2, 1\): expected \(1, 1\)"),
        ({"y": torch.tensor([0.5])}, "y: 0.5: expected integers"),
    ],
)
def test_a_wrong_graph_is_refused(tmp_path, change, message):
    content = three_parts()
    content[0][1] = {key: value for key, value in (content[0][1] | change).items() if value is not None}
    with pytest.raises(DataError, match=f"graphs.pt, train, graph 1.*{message.removeprefix('graph 1')}"):
        read(saved(tmp_path, content), edge_dim=1, with_pos=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([[graph()]], "1 parts: expected a list of the three lists"),
        ({"train": []}, "dict: expected a list"),
        ([[graph()], [], [graph()]], "val: an empty list"),
        ([[graph()], 7, [graph()]], "val: int"),
        ([[torch.zeros(3)]] * 3, "graph 0: ndarray: expected a dictionary"),
    ],
)
def test_a_wrong_list_is_refused(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read(saved(tmp_path, content))


class Harmful:
    def __reduce__(self):
        return print, ("code of the file was run",)


def test_a_damaged_or_harmful_file_is_refused_and_runs_nothing(tmp_path, capsys):
    whole = saved(tmp_path, three_parts())
    (tmp_path / "cut.pt").write_bytes(whole.read_bytes()[:-200])
    (tmp_path / "text.pt").write_text("no torch file")
    torch.save([Harmful()] * 3, tmp_path / "harmful.pt")
    with zipfile.ZipFile(tmp_path / "cut.zip", "w") as archive:
        archive.write(tmp_path / "cut.pt", "cut.pt")
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.write(whole, "a.pt")
        archive.write(whole, "b.pt")
    for name in ("cut.pt", "text.pt", "harmful.pt", "cut.zip"):
        with pytest.raises(DataError, match=f"{name}: (cannot be read as a torch file|damaged or cut short)"):
            read(tmp_path / name)
    with pytest.raises(DataError, match=r"holds a.pt, b.pt: expected one"):
        read(tmp_path / "two.zip")
    assert capsys.readouterr().out == ""


def test_an_unknown_level_is_refused_and_the_address_is_the_published_one(tmp_path):
    with pytest.raises(ValueError, match="label='graphs': expected one of graph, node, edge"):
        read(saved(tmp_path, three_parts()), label="graphs")
    file = published_file("MNIST_v2")
    assert file.path.endswith("MNIST_v2.zip") and file.urls[0].endswith("/benchmarking-gnns/MNIST_v2.zip")
