"""What COCO-SP costs on a small machine: time, memory and disk to build its store from the published files and to train from it.

Synthetic graphs with the sizes of COCO-SP (123,286 graphs, 58,793,216 nodes, 332,091,902 edges) are pickled as the published ones
are. The dataset's own reader packs them, then a net is trained on batches cut out of the store. `--share 0.1` makes a tenth of
the graphs; what the whole would cost is printed beside it. Times differ from machine to machine, bytes do not.

    python benchmarks/coco_size.py FOLDER --share 0.1
"""

import argparse
import pickle
import subprocess
import sys
import time
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import process  # noqa: F401, I001 - before torch

import numpy as np
import torch
from scipy.spatial import Delaunay

from data.dataset import DataConfig
from data.LRGB_declared import DECLARED
from data.LRGB_statistics import PRINTED
from data.LRGB_superpixels import COCO
from data.readers.images import COCO_CATEGORIES
from nets import NETS, build_net
from train import task_of

WHOLE = PRINTED["COCO-SP"]
NAME = "coco_superpixels_edge_wt_region_boundary"


def sizes(share):
    return {part: max(round(n * share), 1) for part, n in COCO.sizes.items()}


def template(random):
    """(number of nodes, (2, E) edges in both directions) of about the mean size and degree of COCO-SP."""
    n = int(random.integers(455, 500))
    corners = Delaunay(random.random((n, 2))).simplices
    pairs = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1)
    pairs = random.permutation(np.unique(pairs, axis=0))[: round(n * WHOLE.edges / WHOLE.nodes / 2)]
    return n, np.concatenate([pairs, pairs[:, ::-1]]).T.astype(np.int64)


def graphs(n_graphs, seed):
    """As published: features of half precision, edge features, edges, and a category per node."""
    random = np.random.default_rng(seed)
    templates = [template(random) for _ in range(32)]
    for i in range(n_graphs):
        n, ends = templates[i % len(templates)]
        x = torch.from_numpy(random.random((n, 14), np.float32)).half()
        edge = torch.from_numpy(random.random((ends.shape[1], 2), np.float32))
        yield x, edge, torch.from_numpy(ends.copy()), random.choice(COCO_CATEGORIES, n).astype(np.uint8)


def write_archive(folder, share):
    with zipfile.ZipFile(folder / f"{NAME}.zip", "w") as archive:
        for seed, (part, n) in enumerate(sizes(share).items()):
            with archive.open(f"{NAME}/{part}.pickle", "w", force_zip64=True) as file:
                pickle.dump(list(graphs(n, seed)), file, protocol=4)


def memory(kind="VmHWM"):
    """Gigabytes: VmHWM is the most that was resident, files that are mapped included; RssAnon is what is not a file, now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:")) / 2**20


def build(folder, share):
    """The dataset, packed from the archive by COCO's own reader; only the number of graphs is another."""
    keys = {"name": "COCO-SP-synthetic", "sizes": sizes(share), "is_papers": False, "check": lambda self, store: None}
    keys |= {"parameters": {"share": share}, "raw_files": (COCO.archive("rag", 30),)}
    keys |= {"declared": DECLARED["COCO-SP"]}
    synthetic = type("Synthetic", (COCO,), keys)
    return synthetic(DataConfig(store_dir=str(folder / "stores"), data_dir=str(folder), offline=True))


def train(dataset, n_batches, batch_size):
    """Seconds per batch and the most anonymous memory while a GCN is trained on batches in random order."""
    task = task_of(dataset)
    net = build_net(NETS["GCN"].Config(L=4, hidden_dim=64), dataset.features, task, seed=0)
    optimizer, most, begin = torch.optim.Adam(net.parameters()), 0.0, time.monotonic()
    loader = dataset.fold(0).loader("train", batch_size, shuffle=True, generator=torch.Generator().manual_seed(0))
    for k, (g, of, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = task.loss(net(g, of), y)
        loss.backward()
        optimizer.step()
        most = max(most, memory("RssAnon"))
        if k + 1 == n_batches:
            break
    return (time.monotonic() - begin) / (k + 1), most


def report(dataset, seconds):
    store, n_bytes = dataset.store, 0
    for entry in store.header["arrays"].values():
        n_bytes += entry["bytes"]
    factor = WHOLE.edges / store.n_edges
    print(
        f"{len(store):,} graphs, {store.n_nodes:,} nodes, {store.n_edges:,} edges; the whole is {factor:.2f} times as large"
    )
    print(
        f"store: {n_bytes / 1e9:.2f} GB, {n_bytes / store.n_edges:.2f} bytes per edge; whole: {factor * n_bytes / 1e9:.2f} GB"
    )
    print(f"build: {seconds:.0f} s; whole: {factor * seconds / 60:.0f} minutes; most memory {memory():.2f} GB")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="where files are made: 1.6 GB for a tenth")
    parser.add_argument("--share", type=float, default=0.1, help="of the graphs of COCO-SP")
    parser.add_argument("--batches", type=int, default=100, help="of 32 graphs, that are trained on")
    parser.add_argument("--only_write", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.only_write:
        return write_archive(folder, arguments.share)
    if not (folder / f"{NAME}.zip").exists():  # in a process of its own, whose memory is not counted
        words = [str(folder), "--share", str(arguments.share), "--only_write"]
        subprocess.run([sys.executable, __file__, *words], check=True)
    print(f"published files: {(folder / f'{NAME}.zip').stat().st_size / 1e9:.2f} GB", flush=True)
    begin = time.monotonic()
    dataset = build(folder, arguments.share)
    report(dataset, time.monotonic() - begin)
    sys.stdout.flush()
    seconds, most = train(dataset, arguments.batches, 32)
    print(
        f"training: {1000 * seconds:.0f} ms per batch of 32 graphs, GCN of 4 layers; most memory beside the store {most:.2f} GB"
    )
    return None


if __name__ == "__main__":
    main()
