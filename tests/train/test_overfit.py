"""Every model can learn every kind of task: eight small graphs by heart."""

import pytest
import torch

from data.dataset import Features
from data.store import Field
from nets import NETS, build_net
from tests.nets.graphs import random_batch
from train.tasks import EdgeClassification, GraphClassification, GraphRegression, NodeClassification

# a dataset whose batches have the features and labels of the task; TSP has continuous node and edge features
TASKS = {
    "graph classification": ("MNIST", GraphClassification(10)),
    "graph regression": ("ZINC", GraphRegression()),
    "node classification": ("PATTERN", NodeClassification(2)),
    "edge classification": ("TSP", EdgeClassification()),
}
N_STEPS = 600
# those of BREC give embeddings of pairs of graphs; tests/train/test_siamese.py trains them
MODELS = ("MLP", "GCN", "GraphSage", "MoNet", "GAT", "GatedGCN", "GIN", "RingGNN", "3WLGNN")
WIDTHS = {"GAT": 8, "RingGNN": 32, "3WLGNN": 32}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("kind", TASKS)
def test_eight_graphs_are_learned_by_heart(model, kind):
    """With eigenvector-like positions, so that the nodes can be told apart whatever the model."""
    torch.manual_seed(1)
    dataset, task = TASKS[kind]
    g, y = random_batch(dataset, sizes=(5, 6, 7, 5, 6, 7, 8, 4), n_eigenvectors=8)
    node = {"MNIST": Field("node", "feat", "float32", (3,)), "ZINC": Field("node", "feat", "int64", n_types=28)}
    node |= {"PATTERN": Field("node", "feat", "int64", n_types=3), "TSP": Field("node", "feat", "float32", (2,))}
    config = NETS[model].Config(L=2, hidden_dim=WIDTHS.get(model, 64), encodings=[{"kind": "LapPE", "k": 8}])
    net = build_net(config, Features(node[dataset], None), task)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=N_STEPS)
    first = None
    for _ in range(N_STEPS):
        loss = task.loss(net(g), y)
        first = first if first is not None else loss.item()
        if loss.item() < 0.02 * first:
            return
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    raise AssertionError(f"the loss went from {first:.3f} to {loss.item():.3f} only")
