"""Peptides and PCQM-Contact: real peptides with the counts of Table 2, look-alikes of the published files, bad files."""

import csv
import gzip
import hashlib
import io
import pickle
import zipfile

import numpy as np
import pytest
import torch

from data.dataset import DataConfig
from data.draw import path_layout
from data.errors import DataError, StoreError
from data.LRGB_molecules import (
    SHAPES,
    PCQMContact,
    PeptidesFunc,
    PeptidesStruct,
    PublishedPCQMContact,
    PublishedPeptidesFunc,
    check_md5,
    read_split,
    shuffled_split,
)
from data.LRGB_statistics import PRINTED, Totals, path_statistics, statistics
from data.readers.ogb_molecule import contacts, graph_of_smiles
from data.readers.smiles import rdkit
from data.splits import PARTS
from train.tasks import task_of


def config(store_dir, data_dir, **keys):
    return DataConfig(store_dir=str(store_dir), data_dir=str(data_dir), raw_dir=str(store_dir), offline=True, **keys)


def md5_of(path):
    return hashlib.md5(path.read_bytes()).hexdigest()


def write_gz(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))
    return md5_of(path)


# Real peptides


@pytest.fixture(scope="module")
def peptides(real_data, store_dir):
    pytest.importorskip("rdkit")
    return PeptidesFunc(config(store_dir, real_data, limit=20))


def test_some_real_peptides(peptides):
    store, fold = peptides.store, peptides.fold(0)
    assert len(store) == 60 and {part: len(graphs) for part, graphs in fold.parts.items()} == dict.fromkeys(PARTS, 20)
    assert store.fields["node.feat"].n_types == peptides.declared.node.n_types
    g, of, y = next(iter(fold.loader("train", 20)))
    assert g.ndata["feat"].shape[1] == 9 and g.edata["feat"].shape[1] == 3 and of is None
    assert y.shape == (20, 10) and y.dtype == torch.float32 and set(y.unique().tolist()) == {0.0, 1.0}
    task = task_of(peptides)
    assert (task.level, task.n_out) == ("graph", 10) and task.metric().measures[0].name == "AP"
    assert "paper" not in str(peptides.statistics()) and peptides.statistics()[0] == ("graphs", "-", "60")


def test_the_first_peptides_are_those_of_the_paper(real_data, peptides):
    """Peptide 0 has 119 atoms and 244 directed bonds, the first of training 338 and 682."""
    path = real_data / "LRGB" / "peptide_multi_class_dataset.csv.gz"
    smiles, labels = peptides.read(path)
    split = read_split(real_data / "LRGB" / "peptides_splits.npz", len(smiles))
    assert {part: len(graphs) for part, graphs in split.items()} == {"train": 10873, "val": 2331, "test": 2331}
    sizes = [
        (len(atoms), len(src)) for atoms, src, _, _ in map(graph_of_smiles, (smiles[0], smiles[split["train"][0]]))
    ]
    assert sizes == [(119, 244), (338, 682)]
    share = labels.mean(0)
    assert share.sum() == pytest.approx(1.65, abs=0.005) and labels.mean() == pytest.approx(0.165, abs=5e-4)
    assert share.argmax() == 4 and share.max() == pytest.approx(0.627, abs=5e-4)
    assert share.argmin() == 8 and share.min() == pytest.approx(0.019, abs=5e-4)


def test_the_other_vocabulary_of_chirality(real_data, store_dir, peptides):
    """The same numbers, and one more type: all chiralities of peptides are in both lists."""
    other = PeptidesFunc(config(store_dir, real_data, limit=20, features="ogb-1.3.6"))
    assert other.features.node.n_types[1] == 5 and peptides.features.node.n_types[1] == 4
    assert (other.store.column("node.feat") == peptides.store.column("node.feat")).all()
    assert set(np.unique(other.store.column("node.feat")[:, 1])) == {0, 1, 2}
    with pytest.raises(DataError, match=r"data.features='ogb': Peptides-func offers ogb-1.3.6"):
        PeptidesFunc(config(store_dir, real_data, limit=20, features="ogb"))


# Look-alikes

PEPTIDES = [
    "NCC(=O)NCC(=O)O",
    "C[C@H](N)C(=O)NCC(=O)O",
    "NCC(=O)O",
    "CC(C)C[C@H](N)C(=O)O",
    "NCCc1c[nH]c2ccccc12",
    "NCC(N)=O",
]


@pytest.fixture
def small_split():
    return {"train": np.arange(4), "val": np.array([5]), "test": np.array([4])}


def write_struct(folder, values, smiles=PEPTIDES):
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(["", "smiles", "peptide_seq", "self_dist_matrix", *SHAPES])
    for i, (word, row) in enumerate(zip(smiles, values, strict=True)):
        table.writerow([i, word, "G", "[[0.0, 1.5], [1.5, 0.0]]" * 9000, *row])  # longer than csv allows by itself
    return write_gz(folder / "LRGB" / "peptide_structure_dataset.csv.gz", text.getvalue())


@pytest.fixture
def struct_class(tmp_path, small_split, monkeypatch):
    pytest.importorskip("rdkit")
    values = np.random.default_rng(0).normal(5, 3, (6, 11))
    monkeypatch.setattr(PeptidesStruct, "md5", write_struct(tmp_path, values))
    (tmp_path / "LRGB" / "splits_random_stratified_peptide_structure.pickle").write_bytes(pickle.dumps(small_split))
    monkeypatch.setitem(PRINTED, "Peptides-struct", Totals(6, 50, 92, (0, 0), (0, 0)))
    return PeptidesStruct, values


def test_shapes_are_z_scores_over_all_peptides(tmp_path, struct_class):
    """Mean 0 and sample deviation 1 of each column, over training, validation and test together."""
    dataset = struct_class[0](config(tmp_path / "stores", tmp_path))
    z = dataset.store.column("graph.label").astype(float)
    assert np.abs(z.mean(0)).max() < 1e-6 and np.abs(z.std(0, ddof=1) - 1).max() < 1e-6
    values = struct_class[1]
    assert z == pytest.approx((values - values.mean(0)) / values.std(0, ddof=1), abs=1e-6)
    assert dataset.fold(0).parts["test"].tolist() == [4] and len(dataset.summary()) == 11
    task = task_of(dataset)
    assert [measure.name for measure in task.metric().measures] == ["MAE", "R2"] and task.n_out == 11
    few = struct_class[0](config(tmp_path / "stores", tmp_path, limit=1))
    assert (few.store.column("graph.label") == dataset.store.column("graph.label")[[0, 4, 5]]).all()


def test_bad_tables(tmp_path, struct_class, monkeypatch):
    values = struct_class[1].tolist()
    with pytest.raises(DataError, match=r"MD5 is \w+, expected 0, that of the published file: delete"):
        check_md5(tmp_path / "LRGB" / "peptide_structure_dataset.csv.gz", "0")
    values[2][3] = "nan"
    monkeypatch.setattr(PeptidesStruct, "md5", write_struct(tmp_path, values))
    with pytest.raises(DataError, match="Inertia_valence_a is not a number everywhere"):
        PeptidesStruct(config(tmp_path / "stores", tmp_path))
    for column in (1e308, -1e308) * 3, (1,) * 6, (1,):  # too large; the same everywhere; only one
        table = write_struct(tmp_path, [[number] * 11 for number in column], PEPTIDES[: len(column)])
        monkeypatch.setattr(PeptidesStruct, "md5", table)
        with pytest.raises(DataError, match=r"Inertia_mass_a has the deviation (inf|0.0): expected"):
            PeptidesStruct(config(tmp_path / "stores", tmp_path))
    md5 = write_gz(tmp_path / "LRGB" / "peptide_structure_dataset.csv.gz", "smiles,labels\nC,1\n")
    monkeypatch.setattr(PeptidesStruct, "md5", md5)
    with pytest.raises(DataError, match="no column 'Inertia_mass_a' among 'smiles', 'labels'"):
        PeptidesStruct(config(tmp_path / "stores", tmp_path))


def test_other_files_are_not_the_papers(tmp_path, struct_class, monkeypatch):
    monkeypatch.setitem(PRINTED, "Peptides-struct", Totals(6, 51, 92, (0, 0), (0, 0)))
    with pytest.raises(
        StoreError, match=r"are \(6, 50, 92\), of Peptides-struct \(6, 51, 92\): it was built from other"
    ):
        PeptidesStruct(config(tmp_path / "stores", tmp_path))


def test_a_bad_split(tmp_path, small_split):
    path = tmp_path / "split.pickle"
    path.write_bytes(pickle.dumps(small_split | {"test": np.array([3])}))
    with pytest.raises(DataError, match="not a division of 6 peptides"):
        read_split(path, 6)


def cxsmiles(words):
    """Molecules as in the table: hydrogens, coordinates, and each contact a number that two atoms share. Pairs of the last one."""
    Chem = rdkit()[0]
    from rdkit.Chem import AllChem

    for word in words:
        molecule = Chem.AddHs(Chem.MolFromSmiles(word))
        AllChem.EmbedMolecule(molecule, randomSeed=1)
        place = molecule.GetConformer().GetPositions()
        found = contacts(place, Chem.GetDistanceMatrix(molecule))
        for atom in molecule.GetAtoms():
            numbers = np.flatnonzero((found == atom.GetIdx()).any(1))
            atom.SetProp("contact", ";".join(map(str, numbers)))
        yield Chem.MolToCXSmiles(molecule, Chem.SmilesWriteParams()), found, molecule


LONG = "CCCCCCCCNC(=O)c1ccccc1"


@pytest.fixture
def contact_class(tmp_path, monkeypatch):
    pytest.importorskip("rdkit")
    words = ["CC"] * 13 * 6
    words[::6] = ["C", LONG] + [LONG] * 11  # methane has no contact
    made = list(cxsmiles(words))
    text = "\n".join(["cxsmiles", *(word for word, _, _ in made)])
    monkeypatch.setattr(PCQMContact, "md5", write_gz(tmp_path / "LRGB" / "pcqm4m-contact.tsv.gz", text))
    monkeypatch.setattr(PCQMContact, "n_molecules", len(words))
    n_atoms = made[6][2].GetNumAtoms()
    totals = Totals(12, 12 * n_atoms, 24 * made[6][2].GetNumBonds(), (0, 0), (0, 0))
    monkeypatch.setitem(PRINTED, "PCQM-Contact", totals)
    return made[6]


def test_every_sixth_molecule_with_a_contact(tmp_path, contact_class):
    _, found, molecule = contact_class
    dataset = PCQMContact(config(tmp_path / "stores", tmp_path))
    assert len(found) > 5 and len(dataset.store) == 12  # of 78, of which one in six was read and one has no contact
    assert {part: len(graphs) for part, graphs in dataset.fold(0).parts.items()} == {"train": 10, "val": 1, "test": 1}
    pairs = dataset.store.rows("pair.of", 3)
    assert len(pairs) == 2 * len(found) == len(np.unique(pairs, axis=0)) and set(map(tuple, pairs)) == {
        (b, a) for a, b in map(tuple, pairs)
    }
    assert (np.lexsort(pairs.T[::-1]) == np.arange(len(pairs))).all()
    feat = dataset.store.rows("node.feat", 3)
    assert sorted(feat[:, 0]) == sorted(atom.GetAtomicNum() - 1 for atom in molecule.GetAtoms())
    assert (feat[:, 6] == 5).all() and (feat[:, 4:6] == 0).all()  # as written: nothing is sanitised
    kinds = {frozenset(feat[pair, 0].tolist()) for pair in pairs.astype(int)}
    expected = {frozenset(molecule.GetAtomWithIdx(int(a)).GetAtomicNum() - 1 for a in pair) for pair in found}
    assert kinds == expected
    assert path_statistics(dataset.store, [3])[1][0] >= 5
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots()
    dataset.draw(axes, 3)
    assert len(axes.lines) == len(dataset.store.rows("edge.src", 3)) + len(pairs) and len(axes.collections) == 1
    plt.close(figure)


def test_atoms_are_drawn_as_far_apart_as_their_paths_are_long():
    """A chain becomes a straight line with steps of one."""
    place = path_layout(6, [0, 1, 2, 3, 4], [1, 2, 3, 4, 5])
    assert np.sqrt(((place[0] - place[5]) ** 2).sum()) == pytest.approx(5, abs=0.05)
    assert np.sqrt((np.diff(place, axis=0) ** 2).sum(1)) == pytest.approx(np.ones(5), abs=0.05)


def test_pairs_of_contacts_train_and_rank(tmp_path, contact_class):
    """Batches have the true pairs and others with the same heads; all other pairs are ranked only."""
    dataset = PCQMContact(config(tmp_path / "stores", tmp_path, limit=1))
    fold, task = dataset.fold(0), task_of(dataset)
    assert task.level == "pair" and [m.name for m in task.metric().measures[:5]] == [
        "MRR", "Hits@1", "Hits@3", "Hits@10", "MRR_filtered"
    ]  # fmt: skip
    n_true = len(dataset.store.rows("pair.of", fold.parts["train"][0]))
    g, of, y = next(iter(fold.loader("train", 1, shuffle=True, generator=torch.Generator().manual_seed(0))))
    assert (y == 1).sum() == n_true and n_true < (y == 0).sum() <= 2 * n_true and of.shape == (2, len(y))
    g, of, y = next(iter(fold.loader("val", 1)))
    assert of.shape[1] == g.num_nodes() ** 2 and y.isnan().any()
    assert "per molecule" in dataset.summary()[0]


def test_the_split_of_contacts():
    """529,434 graphs: the first five of training and the first three of the other parts, as the program has them."""
    split = shuffled_split(529_434)
    assert {part: len(graphs) for part, graphs in split.items()} == {"train": 476490, "val": 26472, "test": 26472}
    assert split["train"][:5].tolist() == [125454, 223263, 192683, 155591, 135999]
    assert split["val"][:3].tolist() == [180097, 247158, 437835]
    assert split["test"][:3].tolist() == [174979, 385045, 469694]


# As published in processed form


def processed_zip(path, folder, parts):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for part, graphs in zip(PARTS, parts, strict=True):
            content = io.BytesIO()
            torch.save(graphs, content)
            archive.writestr(f"{folder}/{part}.pt", content.getvalue())


def tuples(words, last):
    for word in words:
        atoms, src, dst, bonds = graph_of_smiles(word)
        arrays = (atoms, bonds, np.stack([src, dst]))
        yield (*(torch.from_numpy(array.astype(np.int64)) for array in arrays), *last(len(atoms)))


def test_published_peptides(tmp_path, monkeypatch):
    pytest.importorskip("rdkit")
    graphs = list(tuples(PEPTIDES, lambda n: (torch.arange(10.0)[None] % 2,)))
    processed_zip(tmp_path / "LRGB" / "peptidesfunc.zip", "peptidesfunc", (graphs[:4], graphs[4:5], graphs[5:]))
    monkeypatch.setattr(PublishedPeptidesFunc, "sizes", {"train": 4, "val": 1, "test": 1})
    monkeypatch.setitem(PRINTED, "Peptides-func", Totals(6, 50, 92, (0, 0), (0, 0)))
    dataset = PublishedPeptidesFunc(config(tmp_path / "stores", tmp_path))
    assert dataset.fold(0).parts["val"].tolist() == [4]
    assert (dataset.store.rows("node.feat", 4) == graphs[4][0].numpy()).all()
    assert dataset.store.rows("graph.label", 5).tolist() == [0, 1] * 5
    assert statistics(dataset.store, "Peptides-func")[1] == ("nodes", "50", "50")


def test_published_contacts_without_the_negatives(tmp_path, monkeypatch):
    pytest.importorskip("rdkit")
    pairs = torch.tensor([[0, 4, 1], [4, 0, 2]])
    graphs = list(tuples(PEPTIDES[:3], lambda n: (pairs, torch.tensor([1, 1, 0], dtype=torch.int32))))
    processed_zip(tmp_path / "LRGB" / "pcqmcontact.zip", "pcqmcontact", (graphs[:1], graphs[1:2], graphs[2:]))
    monkeypatch.setattr(PublishedPCQMContact, "sizes", dict.fromkeys(PARTS, 1))
    monkeypatch.setitem(PRINTED, "PCQM-Contact", Totals(3, 24, 42, (0, 0), (0, 0)))
    dataset = PublishedPCQMContact(config(tmp_path / "stores", tmp_path))
    assert dataset.store.rows("pair.of", 1).tolist() == [[0, 4], [4, 0]]
    processed_zip(tmp_path / "LRGB" / "pcqmcontact.zip", "pcqmcontact", ([graphs[0][:4]], graphs[1:2], graphs[2:]))
    with pytest.raises(
        DataError, match=r"train, graph 0: 4 entries: expected \(x, edge_attr, edge_index, pairs, pair_"
    ):
        PublishedPCQMContact(config(tmp_path / "other", tmp_path))
