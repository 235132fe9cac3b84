"""OGB's molecules: the real files, small ones in a folder and in a zip file, bad ones."""

import gzip
import zipfile

import numpy as np
import pytest

from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.ogb import ATOM_TYPES, MolHIV, MolTox21


class TinyHIV(MolHIV):
    n_graphs = (2, 1, 1)


class TinyTox(MolTox21):
    n_graphs = (2, 1, 1)


FILES = {
    "raw/num-node-list": "2\n1\n3\n2\n",
    "raw/num-edge-list": "1\n0\n2\n1\n",
    "raw/edge": "0,1\n0,1\n1,2\n0,1\n",
    "raw/node-feat": "".join(f"{i},0,4,5,3,0,2,0,1\n" for i in range(8)),
    "raw/graph-label": "0\n1\n0\n1\n",
    "split/scaffold/train": "2\n0\n",
    "split/scaffold/valid": "1\n",
    "split/scaffold/test": "3\n",
}


def config(folder, data_dir):
    return DataConfig(store_dir=str(folder), data_dir=str(data_dir), raw_dir="-", offline=True)


def write(folder, name="ogbg_molhiv", **changes):
    for path, text in (FILES | changes).items():
        target = folder / f"molecules/{name}/{path}.csv.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(text.encode()))


def test_molhiv(real_data, store_dir):
    dataset = MolHIV(config(store_dir, real_data))  # `check` compares the sizes of the parts
    assert np.bincount(dataset.store.column("graph.label")).tolist() == [39684, 1443]
    assert sum(ATOM_TYPES) == 174 and dataset.features.node.n_types == ATOM_TYPES


def test_a_folder_and_a_zip_file(tmp_path):
    write(tmp_path / "a")
    (tmp_path / "b/molecules").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "b/molecules/hiv.zip", "w") as archive:
        for path, text in FILES.items():
            archive.writestr(f"hiv/{path}.csv.gz", gzip.compress(text.encode()))
    stores = [TinyHIV(config(tmp_path / f"stores_{x}", tmp_path / x)).store for x in "ab"]
    assert stores[0].hash == stores[1].hash
    g, _, y = stores[0].batch([2, 0])
    assert (
        g.num_nodes() == 5
        and g.num_edges() == 6
        and y.tolist() == [0, 0]
        and g.ndata["feat"][:, 0].tolist() == [3, 4, 5, 0, 1]
    )
    assert stores[0].split("scaffold")["train"].tolist() == [2, 0]


def test_unknown_labels(tmp_path):
    """An empty place and nan are unknown."""
    line = "0,1,,nan" + ",0" * 8 + "\n"
    write(tmp_path, "ogbg_moltox21", **{"raw/graph-label": line * 4})
    y = TinyTox(config(tmp_path / "stores", tmp_path)).store.batch([0]).y
    assert y.shape == (1, 12) and y[0, :2].tolist() == [0, 1] and y[0, 2:4].isnan().all() and not y[0, 4:].isnan().any()


BAD = [
    ({"raw/graph-label": "0\n1\n0\n"}, DataError, "do not fit each other"),
    ({"raw/num-edge-list": "1\n3\n"}, DataError, "do not fit each other: the files"),
    ({"raw/graph-label": "0\n1\n\n2\n"}, DataError, "expected 1 columns of 0, 1"),
    ({"raw/graph-label": "0\n1\nnan\n0\n"}, DataError, "without label"),
    ({"raw/graph-label": "0\n1\n0\n1e308\n"}, DataError, "expected 1 columns of 0, 1"),
    ({"raw/num-node-list": "2\n-1\n5\n2\n"}, DataError, "num-node-list: -1 in row 2: expected 0 or more"),
    ({"raw/node-feat": "1,2\n"}, DataError, "2 columns: expected 9"),
    ({"raw/edge": "0,1\n0,1\n1,5\n0,1\n"}, DataError, "node 5: expected 0 to 2"),
    ({"split/scaffold/test": "1\n"}, ValueError, "is in val and again in test"),
    ({"split/scaffold/train": "2\n"}, StoreError, r"\(1, 1, 1\) molecules in the parts"),
]


@pytest.mark.parametrize(("changes", "error", "message"), BAD, ids=[message for *_, message in BAD])
def test_bad_files(tmp_path, changes, error, message):
    write(tmp_path, **changes)
    with pytest.raises(error, match=message):
        TinyHIV(config(tmp_path / "stores", tmp_path))
