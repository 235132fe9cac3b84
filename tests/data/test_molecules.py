"""ZINC and AQSOL: the real molecules with the counts of Tables 1 and 5; look-alikes of the published files; bad files."""

import gzip
import io
import pickle
import zipfile

import numpy as np
import pytest
import torch

from data import molecules
from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.molecules import AQSOL, ZINC, RebuiltAQSOL, RebuiltZINC, RedrawnZINC, SmilesZINC, ZINCFull, read_index
from data.readers.smiles import constrained_solubility, excess_of_largest_ring, log_p_and_sa
from data.readers.unpickle import UnpickleError, load_pickle
from data.splits import PARTS

SMALL = {"train": 3, "val": 2, "test": 2}


def config(store_dir, data_dir, **keys):
    return DataConfig(store_dir=str(store_dir), data_dir=str(data_dir), raw_dir=str(store_dir), offline=True, **keys)


# The real molecules


@pytest.fixture(scope="module")
def zinc(real_data, store_dir):
    return RedrawnZINC(config(store_dir, real_data))


def test_zinc_has_the_counts_of_the_paper(zinc):
    store = zinc.store
    assert len(store) == 12000 and {k: len(v) for k, v in store.split("split").items()} == ZINC.sizes
    sizes = np.diff(store.column("node_offsets"))
    published = sizes[np.concatenate([store.split("split")[part] for part in ("val", "test")])]
    assert published.min() >= 9 and published.max() <= 37 and sizes.max() <= 38  # Table 1: 9-37
    # Table 5: 23.16 nodes, 49.83 directed edges; another draw of 10,000 from the same pool differs by its sampling error
    assert sizes.mean() == pytest.approx(23.16, abs=5 * sizes.std() / np.sqrt(10000))
    assert store.n_edges / 12000 == pytest.approx(49.83, abs=0.5)
    assert zinc.features.node.n_types == 28 and zinc.features.edge.n_types == 4
    assert store.column("node.feat").max() < 28 and set(np.unique(store.column("edge.feat"))) == {1, 2, 3}
    assert store.column("graph.label").std() == pytest.approx(2.02, abs=0.05)


def test_bonds_go_both_ways_with_one_type(zinc):
    for i in range(0, 12000, 1500):
        src, dst = zinc.store.edges(i)
        bond = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), zinc.store.rows("edge.feat", i), strict=True))
        assert all(bond[b, a] == kind for (a, b), kind in bond.items())


def test_the_redrawn_zinc_is_not_called_zinc(zinc):
    assert zinc.store.name == zinc.name == "ZINC-redrawn" != ZINC.name


def test_smiles_give_the_same_graphs_and_targets(real_data, zinc, store_dir):
    pytest.importorskip("rdkit")
    smiles = SmilesZINC(config(store_dir, real_data, limit=40, workers=1))
    assert len(smiles.store) == 120 and {k: len(v) for k, v in smiles.fold(0).parts.items()} == dict.fromkeys(PARTS, 40)
    with np.load(real_data / "ZINC/zinc12k_graphs.npz") as file:
        row_of_graph = file["smiles_row"]
    with np.load(real_data / "ZINC/zinc250k_props.npz") as file:
        log_p, sa, y, split = file["logP"], -file["neg_SA"], file["y"], file["jtvae_split"]
    rows = np.concatenate([np.flatnonzero(split == k)[:40] for k in range(3)])
    label = smiles.store.column("graph.label")
    pairs = [np.transpose(smiles.store.edges(i)) for i in range(len(rows))]
    again = [constrained_solubility(log_p[row], sa[row], p) for row, p in zip(rows, pairs, strict=True)]
    assert (label == np.float32(again)).all()
    assert np.abs(label - y[rows]).max() < 0.01  # z-scores over all molecules instead of those for training
    compared = 0
    for i, row in enumerate(rows):
        for k in np.flatnonzero(row_of_graph == row):
            compared += 1
            assert (smiles.store.rows("node.feat", i) == zinc.store.rows("node.feat", k)).all()
            assert bonds(smiles.store, i) == bonds(zinc.store, k)
    assert compared >= 5


def bonds(store, i):
    src, dst = store.edges(i)
    return sorted(zip(src.tolist(), dst.tolist(), store.rows("edge.feat", i).tolist(), strict=True))


# ZINC-rebuilt


@pytest.fixture(scope="module")
def rebuilt(real_data, store_dir):
    return RebuiltZINC(config(store_dir, real_data))


@pytest.fixture(scope="module")
def jtvae_lists(real_data):
    """The three lists of SMILES; those for validation and test put together from the files at hand."""
    with np.load(real_data / "ZINC/zinc250k_props.npz") as file:
        split, place = file["jtvae_split"], file["jtvae_index"]
    lists = {"train": molecules.read_smiles(real_data / "ZINC/jtvae_train.txt.gz")}
    smiles = np.array(molecules.read_smiles(real_data / "ZINC/zinc250k_smiles.txt.gz"))
    for k, name in ((1, "valid"), (2, "test")):
        members = np.flatnonzero(split == k)
        lists[name] = smiles[members[np.argsort(place[members])]].tolist()
    return lists


def test_rebuilt_zinc_has_the_figures_of_tables_1_and_5(rebuilt):
    store, sizes = rebuilt.store, np.diff(rebuilt.store.column("node_offsets"))
    assert {k: len(v) for k, v in store.split("split").items()} == ZINC.sizes
    assert store.n_nodes == 277_864 and (sizes.min(), sizes.max()) == (9, 37)
    assert (round(store.n_nodes / 12000, 2), round(store.n_edges / 12000, 2)) == (23.16, 49.83)
    # the published atom types of the training and validation molecules are 0 to 20, and no others
    assert np.unique(store.column("node.feat")).tolist() == list(range(21))


def test_rebuilt_zinc_never_changes_silently(rebuilt):
    assert rebuilt.store.hash == "9772e1d5de05d910618bc91f866ea49c7db948ca4ad56a5f943485674b4d34a6"


def test_smiles_and_index_files_rebuild_the_same_molecules(rebuilt, jtvae_lists, real_data, tmp_path, monkeypatch):
    """Every 100th training, and every 25th validation and test molecule."""
    pytest.importorskip("rdkit")
    chosen = []
    for part, step in zip(PARTS, (100, 25, 25), strict=True):
        path = f"splits/benchmarking-gnns/molecules/{part}.index"
        numbers = (real_data / path).read_text().replace("\n", "").strip(",").split(",")
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(",".join(numbers[::step]))
        chosen += rebuilt.store.split("split")[part][::step].tolist()
    write_lists(tmp_path, jtvae_lists)
    monkeypatch.setattr(RebuiltZINC, "sizes", {"train": 100, "val": 40, "test": 40})
    nodes = np.diff(rebuilt.store.column("node_offsets"))[chosen].sum()
    edges = sum(len(rebuilt.store.rows("edge.feat", k)) for k in chosen)
    monkeypatch.setattr(RebuiltZINC, "totals", (nodes, edges))
    smiles = RebuiltZINC(config(tmp_path / "stores", tmp_path, workers=1))
    assert len(smiles.store) == 180
    for i, k in enumerate(chosen):
        assert (smiles.store.rows("node.feat", i) == rebuilt.store.rows("node.feat", k)).all()
        assert bonds(smiles.store, i) == bonds(rebuilt.store, k)
    label = rebuilt.store.column("graph.label")[chosen]
    assert (smiles.store.column("graph.label") == label).all() and label.min() < -5  # with large rings among them


def write_lists(folder, lists):
    """As found in the wild: one list packed, the others plain."""
    (folder / "ZINC").mkdir(exist_ok=True)
    for name, smiles in lists.items():
        content = ("\n".join(smiles) + "\n").encode()
        path = folder / f"ZINC/jtvae_{name}.txt"
        if name == "train":
            path, content = path.with_suffix(".txt.gz"), gzip.compress(content, 1)
        path.write_bytes(content)


def test_the_target_is_the_published_one_where_that_is_known(jtvae_lists):
    """The published program prints the first molecule of each list with its target."""
    pytest.importorskip("rdkit")
    for name, printed in (("train", 3.0464), ("valid", 2.0992), ("test", 3.1382)):
        first = jtvae_lists[name][0]
        _, src, dst, _, target = molecules.molecule_from_smiles(molecules.ZINC_ATOMS, molecules.ZINC_BONDS, first)
        assert target == pytest.approx(printed, abs=1.5e-4)
        again = constrained_solubility(*log_p_and_sa(first), np.stack([src, dst], axis=1))
        assert again == target  # bonds in one direction or in both


def test_a_list_of_another_dataset_is_refused(tmp_path):
    write_lists(tmp_path, {name: ["CC", "CO"] for name in ("train", "valid", "test")})
    with pytest.raises(DataError, match=r"jtvae_train\.txt\.gz: 2 SMILES, expected 220011: it is another list"):
        RebuiltZINC(config(tmp_path / "stores", tmp_path))


def test_other_molecules_are_not_called_rebuilt(tmp_path, monkeypatch):
    """Right in number, but not those of the paper: Table 1 tells."""
    monkeypatch.setattr(RebuiltZINC, "sizes", SMALL)
    write_arrays(tmp_path, arrays(smiles_row=np.arange(7)), "zinc12k_benchmark")
    np.savez(tmp_path / "ZINC/zinc250k_props.npz", logP=np.zeros(7, np.float32), neg_SA=np.zeros(7, np.float32))
    with pytest.raises(StoreError, match=r"nodes, edges are \(14, 14\), of ZINC \(277864, 597970\)"):
        RebuiltZINC(config(tmp_path / "stores", tmp_path))
    np.savez(tmp_path / "ZINC/zinc250k_props.npz", logP=np.zeros(6, np.float32), neg_SA=np.zeros(6, np.float32))
    with pytest.raises(DataError, match=r"smiles_row into .*zinc250k_props\.npz: index 6 is out of bounds"):
        RebuiltZINC(config(tmp_path / "others", tmp_path))


def test_without_any_file_the_error_names_the_list_and_its_address(tmp_path):
    with pytest.raises(DataError, match=r"jtvae_train\.txt: not found .* Get it from https://.*/train\.txt"):
        RebuiltZINC(config(tmp_path / "stores", tmp_path))


def ring(*atoms):
    return [(a, b) for a, b in zip(atoms, (*atoms[1:], atoms[0]), strict=True)]


@pytest.mark.parametrize(
    ("pairs", "excess"),
    [
        ([], 0),
        ([(0, 1), (1, 2)], 0),
        (ring(*range(5)), 0),
        (ring(*range(6)), 0),
        (ring(*range(7)), 1),
        ([*ring(*range(9)), (8, 9), *ring(*range(9, 16))], 3),
        # a bicycle of 5 and 6 that share atoms 4, 0, 1: from any atom but the first a ring of 7 is found
        ([*ring(0, 1, 2, 3, 4), (4, 5), (5, 6), (6, 7), (7, 1)], 0),
    ],
)
def test_the_largest_ring(pairs, excess):
    assert excess_of_largest_ring(pairs) == excess_of_largest_ring([(b, a) for a, b in reversed(pairs)]) == excess


def test_aqsol_has_the_published_counts(real_data, store_dir):
    aqsol = RebuiltAQSOL(config(store_dir, real_data))
    assert {k: len(v) for k, v in aqsol.store.split("split").items()} == {"train": 7831, "val": 996, "test": 996}
    assert round(aqsol.store.n_nodes / 9823, 2) == 17.57 and round(aqsol.store.n_edges / 9823, 2) == 35.76


# Look-alikes of the published files


def zip_of(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def zinc_molecule(n):
    bond_type = torch.zeros(n, n, dtype=torch.int32)
    bond_type[0, 1] = bond_type[1, 0] = 2
    return {
        "num_atom": n,
        "atom_type": torch.arange(n, dtype=torch.int32),
        "bond_type": bond_type,
        "logP_SA_cycle_normalized": torch.tensor([n / 2]),
    }


@pytest.fixture
def zinc_folder(tmp_path, monkeypatch):
    """Five molecules of 3 to 7 atoms a part, of which the index files choose."""
    content = pickle.dumps([zinc_molecule(n) for n in range(3, 8)])
    zip_of(tmp_path / "ZINC/molecules.zip", {f"molecules/{part}.pickle": content for part in PARTS})
    folder = tmp_path / "splits/benchmarking-gnns/molecules"
    folder.mkdir(parents=True)
    for part, index in zip(PARTS, ("0,4,2\n", "1,3\n", "4,0\n"), strict=True):
        (folder / f"{part}.index").write_text(index)
    monkeypatch.setattr(ZINC, "sizes", SMALL)
    monkeypatch.setattr(ZINCFull, "sizes", dict.fromkeys(PARTS, 5))
    return tmp_path


def test_published_zinc(zinc_folder):
    zinc = ZINC(config(zinc_folder / "stores", zinc_folder))
    assert np.diff(zinc.store.column("node_offsets")).tolist() == [3, 7, 5, 4, 6, 7, 3]
    assert zinc.store.column("graph.label").tolist() == [1.5, 3.5, 2.5, 2, 3, 3.5, 1.5]
    assert zinc.store.rows("node.feat", 1).tolist() == list(range(7)) and bonds(zinc.store, 0) == [(0, 1, 2), (1, 0, 2)]
    assert len(ZINCFull(config(zinc_folder / "stores", zinc_folder)).store) == 15


def test_published_aqsol(tmp_path, monkeypatch):
    edges = np.array([[0, 1], [1, 0]])
    graph = (np.array([0, 64]), np.array([3, 3]), edges, -1.5)
    lonely = (np.array([7]), np.array([]), np.empty((2, 0), int), 0.5)
    content = pickle.dumps([graph, lonely, graph])
    zip_of(tmp_path / "AQSOL/aqsol_graph_raw.zip", {f"asqol_graph_raw/{part}.pickle": content for part in PARTS})
    monkeypatch.setattr(AQSOL, "sizes", dict.fromkeys(PARTS, 2))
    aqsol = AQSOL(config(tmp_path / "stores", tmp_path))
    assert len(aqsol.store) == 6 and aqsol.store.column("graph.label").tolist() == [-1.5] * 6
    assert aqsol.store.rows("node.feat", 0).tolist() == [0, 64] and bonds(aqsol.store, 0) == [(0, 1, 3), (1, 0, 3)]


# Bad files


def arrays(**changes):
    good = {
        "atom_type": np.zeros(7 * 2, np.uint8),
        "node_ptr": np.arange(8) * 2,
        "edge": np.tile([[0, 1]], (7, 1)),
        "bond_type": np.ones(7, np.uint8),
        "edge_ptr": np.arange(8),
        "y": np.zeros(7, np.float32),
        "split": np.array([0, 0, 0, 1, 1, 2, 2]),
    }
    good |= changes
    return {key: value for key, value in good.items() if value is not None}


def write_arrays(folder, content, name="zinc12k_graphs"):
    (folder / "ZINC").mkdir(exist_ok=True)
    np.savez(folder / f"ZINC/{name}.npz", **content)


BAD_ARRAYS = {
    "missing array": (arrays(bond_type=None), "bond_type"),
    "atom type": (arrays(atom_type=np.full(14, 28)), "28: expected 0 to 27"),
    "node id": (arrays(edge=np.tile([[0, 2]], (7, 1))), "node 2: expected 0 to 1"),
    "negative node": (arrays(edge=np.tile([[0, -1]], (7, 1))), "node -1"),
    "target": (arrays(y=np.full(7, np.nan, np.float32)), "nan"),
    "pointer": (arrays(node_ptr=np.arange(8) * 3), "node_ptr"),
    "split": (arrays(split=np.full(7, 3)), "split must hold"),
    "counts": (arrays(split=np.zeros(7, int)), "expected"),
    "pickle": (arrays(y=np.array([{}] * 7)), "y: not an array of numbers"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays_are_refused_and_leave_no_store(tmp_path, monkeypatch, case):
    monkeypatch.setattr(RedrawnZINC, "sizes", SMALL)
    content, message = BAD_ARRAYS[case]
    write_arrays(tmp_path, content)
    refused(RedrawnZINC, tmp_path, message)
    write_arrays(tmp_path, arrays())
    assert len(RedrawnZINC(config(tmp_path / "stores", tmp_path)).store) == 7


def refused(dataset, folder, message):
    with pytest.raises(DataError, match=message) as error:
        dataset(config(folder / "stores", folder))
    assert "zinc12k" in str(error.value) or "molecules" in str(error.value)
    assert not [p for p in (folder / "stores").rglob("*") if p.suffix != ".lock"]


@pytest.mark.parametrize("content", [b"no archive", b"PK\x03\x04 cut", b""])
def test_files_that_are_no_arrays_are_refused(tmp_path, content):
    (tmp_path / "ZINC").mkdir()
    (tmp_path / "ZINC/zinc12k_graphs.npz").write_bytes(content)
    refused(RedrawnZINC, tmp_path, "damaged|empty")


def test_missing_and_malformed_members_of_the_published_archive(zinc_folder):
    archive = zinc_folder / "ZINC/molecules.zip"
    content = archive.read_bytes()
    zip_of(archive, {"molecules/train.pickle": pickle.dumps([])})
    refused(ZINC, zinc_folder, "expected numbers from 0 to -1")
    zip_of(archive, {"other/train.pickle": b""})
    refused(ZINC, zinc_folder, "0 files .*/molecules/train.pickle, expected 1")
    zip_of(archive, {f"molecules/{part}.pickle": pickle.dumps([{"atom_type": 1}] * 5) for part in PARTS})
    refused(ZINC, zinc_folder, "molecule 0: 'bond_type'")
    archive.write_bytes(content[:-100])
    refused(ZINC, zinc_folder, "zip")
    archive.write_bytes(content)
    (zinc_folder / "splits/benchmarking-gnns/molecules/val.index").write_text("1,two\n")
    with pytest.raises(DataError, match=r"val\.index.*two"):
        ZINC(config(zinc_folder / "stores", zinc_folder))


def test_index_files(tmp_path):
    path = tmp_path / "x.index"
    path.write_text("3,1,\n2\n")
    assert read_index(path, 4) == [3, 1, 2]
    for text in ("4", "-1", ""):
        path.write_text(text)
        with pytest.raises(DataError, match="expected numbers from 0 to 3"):
            read_index(path, 4)


class Malicious:
    def __reduce__(self):
        return print, ("this code ran",)


def test_a_pickle_cannot_run_code(capsys):
    with pytest.raises(UnpickleError, match=r"builtins\.print"):
        load_pickle(io.BytesIO(pickle.dumps([Malicious()])))
    assert "ran" not in capsys.readouterr().out
    plain = {"a": np.arange(3), "b": torch.ones(2, 2), "c": [1, "x", None, np.float64(2)]}
    seen = load_pickle(io.BytesIO(pickle.dumps(plain)))
    assert (seen["a"] == plain["a"]).all() and (seen["b"] == 1).all() and seen["c"] == plain["c"]


def test_without_rdkit_the_error_names_the_remedy(monkeypatch):
    from data.readers import smiles

    smiles.rdkit.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "rdkit", None)
    with pytest.raises(DataError, match=r"requirements-molecules\.txt"):
        molecules.molecule_from_smiles(molecules.ZINC_ATOMS, molecules.ZINC_BONDS, "CC")
    smiles.rdkit.cache_clear()


@pytest.mark.parametrize(("smiles", "message"), [("C1CC", "cannot read"), ("[Xe]", "'Xe': expected one of C, O")])
def test_unreadable_smiles(smiles, message):
    pytest.importorskip("rdkit")
    with pytest.raises(DataError, match=message):
        molecules.molecule_from_smiles(molecules.ZINC_ATOMS, molecules.ZINC_BONDS, smiles)
