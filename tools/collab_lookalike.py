"""A small collaboration network in exactly the raw format of OGB's ogbl-collab, to try COLLAB without the download.

    python -m tools.collab_lookalike FOLDER
    python main_COLLAB.py --dataset COLLAB-own --data.data_dir FOLDER --train.batch_size 1024 --train.stop.epochs 20

Scientists work in groups and publish with their own group, in several years with the same colleague; features tell the group
roughly. A few have not published before 2018. Negative pairs never collaborate.
"""

import argparse
import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import torch


def collaborations(n_groups, group_size, random):
    """(u, v, year, weight) of all years, for nodes numbered group by group."""
    rows = []
    for group in range(n_groups):
        first = group * group_size
        a, b = np.triu_indices(group_size, 1)
        for u, v in zip(first + a, first + b, strict=True):
            if random.rand() < 0.7:  # they are colleagues
                years = np.unique(random.randint(2008, 2020, random.randint(1, 5)))
                rows += [(u, v, year, 1 + random.poisson(0.5)) for year in years]
    edges = np.array(rows)
    newcomers = np.arange(0, n_groups * group_size, group_size)[: n_groups // 4]
    early = np.isin(edges[:, :2], newcomers).any(axis=1) & (edges[:, 2] < 2018)
    return edges[~early]


def negative_pairs(n_nodes, linked, n_pairs, random):
    """Random pairs of different nodes that are never linked."""
    pairs = random.randint(0, n_nodes, (4 * n_pairs, 2))
    free = (pairs[:, 0] != pairs[:, 1]) & ~np.isin(pairs.min(axis=1) * n_nodes + pairs.max(axis=1), linked)
    return pairs[free][:n_pairs]


def saved(arrays, legacy=True):
    """torch.save of numpy arrays; OGB's files are in the form from before torch 1.6."""
    file = io.BytesIO()
    torch.save(arrays, file, _use_new_zipfile_serialization=not legacy)
    return file.getvalue()


def csv(table, form="%d"):
    file = io.StringIO()
    np.savetxt(file, table, fmt=form, delimiter=",")
    return gzip.compress(file.getvalue().encode(), mtime=0)


def members(n_groups=40, group_size=10, n_features=128, n_negatives=2000, seed=0, legacy=True):
    """{name in the zip: content}"""
    random = np.random.RandomState(seed)
    n_nodes = n_groups * group_size
    number = random.permutation(n_nodes)
    group = np.empty(n_nodes, int)
    group[number] = np.arange(n_nodes) // group_size
    edges = collaborations(n_groups, group_size, random)
    edges[:, :2] = number[edges[:, :2]]
    edges = random.permutation(edges)
    linked = edges[:, :2].min(axis=1) * n_nodes + edges[:, :2].max(axis=1)
    features = random.randn(n_groups, n_features)[group] + 2 * random.randn(n_nodes, n_features)
    files = {}
    for name, chosen in (("train", edges[:, 2] <= 2017), ("valid", edges[:, 2] == 2018), ("test", edges[:, 2] == 2019)):
        u_v, year, weight = edges[chosen, :2], edges[chosen, 2], edges[chosen, 3]
        arrays = {"edge": u_v, "weight": weight, "year": year}
        if name == "train":
            files |= {"edge": csv(u_v), "edge_year": csv(year), "edge_weight": csv(weight)}
            files |= {"num-node-list": csv([n_nodes]), "num-edge-list": csv([len(u_v)])}
            files = {f"collab/raw/{key}.csv.gz": content for key, content in files.items()}
            # the split lists the same edges in another order
            arrays = {key: values[::-1].copy() for key, values in arrays.items()}
        else:
            arrays["edge_neg"] = negative_pairs(n_nodes, linked, n_negatives, random)
        files[f"collab/split/time/{name}.pt"] = saved(arrays, legacy)
    files["collab/raw/node-feat.csv.gz"] = csv(features, "%.6f")
    return files


def write(folder, files=None):
    """collab.zip in the place below `folder` where it is looked for; returns `folder`."""
    path = Path(folder) / "ogbl_collab" / "collab.zip"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (files or members()).items():
            archive.writestr(name, content)
    return Path(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    print(f"written: {write(parser.parse_args().folder)}/ogbl_collab/collab.zip")
