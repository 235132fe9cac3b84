"""Speed of what the Taxonomy of Benchmarks needs: perturbing datasets, complete graphs without edges, epochs on one graph.

    python benchmarks/taxonomy.py perturb      all eleven perturbations of four TU datasets, seconds
    python benchmarks/taxonomy.py cliques      a training step on complete graphs of 100 nodes, with edges and by the closed form
    python benchmarks/taxonomy.py epochs       an epoch on one graph beside the same net in torch_geometric

Times are those of the processor (one thread), the smallest of several, so that other programs matter little.
"""

import argparse
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import process  # noqa: F401 - before torch is loaded

# isort: split
import torch
import torch.nn.functional as F

from data.dataset import DataConfig, Features, numbers
from data.registry import open_dataset
from data.store import Field, Packed, PackedWriter
from data.transforms.perturb import perturbed
from nets import NETS, build_net
from runs.table_files import find_table
from train.tasks import Classification

TU = ("ENZYMES", "PROTEINS", "NCI1", "IMDB-BINARY")
NODE_SETS = ("CF-CoraML", "WikiNet-cham")


def seconds(step, repeats=7):
    """CPU seconds of one call: the smallest of several, after two more."""
    step(), step()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return min(times)


def perturb(arguments):
    table, total = find_table("taxonomy_figure4"), 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in TU:
            rows = [row.config for key, row in table.rows.items() if key.startswith(f"{name}+")]
            keys = {"store_dir": folder, "workers": arguments.workers}
            source = open_dataset(rows[0]["dataset"], DataConfig(**rows[0]["data"] | keys | {"transforms": []})).store
            start = time.perf_counter()
            for row in rows:
                perturbed(source, DataConfig(**row["data"]).transforms, workers=arguments.workers)
            print(f"{name}: {len(rows)} perturbations of {len(source)} graphs in {time.perf_counter() - start:.1f} s")
            total += time.perf_counter() - start
    print(f"together {total:.1f} s")


def cliques(arguments):
    for model in ("TaxonomyGCN", "TaxonomyGIN"):
        with tempfile.TemporaryDirectory() as folder:
            times = clique_times(model, Path(folder) / "source")
        ratio = times["edges"] / times["marked"]
        print(
            f"{model}: edges {times['edges']:.3f} s, closed form {times['marked']:.4f} s per batch: {ratio:.1f} times faster"
        )


def clique_times(model, path, n_graphs=64, n_nodes=100):
    """CPU seconds of a training step on a batch of complete graphs, with their edges and with the mark alone."""
    fields = [Field("node", "feat", "float32", (16,)), Field("graph", "label", "int64", n_types=3)]
    with PackedWriter(path, "random", fields) as writer:
        for i in range(n_graphs):
            writer.add(n_nodes, [], [], node={"feat": torch.randn(n_nodes, 16)}, graph={"label": i % 3})
    store = perturbed(Packed(path), DataConfig(transforms=[{"kind": "FullyConn"}]).transforms)
    task = Classification("graph", 3)
    net = build_net(NETS[model].Config(), Features(numbers("node", 16), None), task, seed=0)

    def step(view):
        g, of, y = view.batch(range(n_graphs))
        net.zero_grad()
        task.loss(net(g, of), y).backward()

    return {how: seconds(partial(step, store.with_cliques(how)), repeats=5) for how in ("edges", "marked")}


def epochs(arguments):
    for name in NODE_SETS:
        dataset = open_dataset(name, DataConfig(seed=0))
        ours, theirs = epoch_times(dataset, *next(iter(dataset.fold(0).loader("train", 1))))
        print(
            f"{name}: {ours * 1e3:.1f} ms per epoch, torch_geometric {theirs * 1e3:.1f} ms: {theirs / ours:.2f} times faster"
        )


def epoch_times(dataset, g, of, y):
    """CPU seconds of a training step of our net and of torch_geometric's."""
    task = Classification("node", dataset.target.n_out)
    net = build_net(NETS["TaxonomyGCN"].Config(batch_norm=False), dataset.features, task, seed=0)
    other = geometric_net(dataset.features.node.shape[0], dataset.target.n_out)
    x, edges = g.ndata["feat"], torch.stack(g.edges()).long()
    return (
        seconds(with_adam(net, lambda: task.loss(net(g, of), y))),
        seconds(with_adam(other, lambda: F.cross_entropy(other(x, edges)[of], y))),
    )


def with_adam(net, loss):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)

    def step():
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

    return step


def geometric_net(in_dim, n_out, dim=128, L=5):
    """The same net of torch_geometric's layers."""
    from torch_geometric.nn import GCNConv

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.input, self.Q, self.P = (
                torch.nn.Linear(in_dim, dim),
                torch.nn.Linear(dim, dim),
                torch.nn.Linear(dim, n_out),
            )
            self.layers = torch.nn.ModuleList(GCNConv(dim, dim) for _ in range(L))

        def forward(self, x, edges):
            x = F.normalize(F.relu(self.input(x)))
            for layer in self.layers:
                x = x + F.normalize(F.relu(layer(x, edges)))
            return self.P(F.normalize(F.relu(self.Q(F.normalize(x)))))

    return Net()


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["perturb", "cliques", "epochs"])
    parser.add_argument("--workers", type=int, default=2, help="processes that perturb (2)")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    {"perturb": perturb, "cliques": cliques, "epochs": epochs}[arguments.what](arguments)


if __name__ == "__main__":
    main()
