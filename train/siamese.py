"""One net and one pair of graphs (BREC, section 4): trained to tell them apart, then tested.

The q renumbered copies of the two graphs are the training data, in batches that never change, half of each batch copies of one
graph and half of the other. A fresh net for each pair, from the seed: the outcome of a pair depends on no other pair.
"""

from functools import partial

import dgl
import numpy as np
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from data.dataset import Features
from data.transforms.laplacian import laplacian_eigenvectors
from data.transforms.random_walk import random_walk_returns
from nets import build_net
from nets.embedding import EIGENVECTOR_ENCODINGS
from train.loop import choose_device
from train.random_state import same_numbers_each_time, seed_all
from train.rpc import STATISTICS, t_squared
from train.tasks import GraphEmbedding


class NetJudge:
    """judge(i): the T² of pair i of a dataset, by a net that a NetPairConfig describes."""

    def __init__(self, config, dataset):
        self.config, self.dataset = config, dataset

    def __call__(self, i):
        config, q = self.config, self.config.test.q
        torch.set_num_threads(1)
        device = choose_device(config.device)
        same_numbers_each_time(device)
        batch = partial(paired_batches, config.train.batch_size, position_encoding(config.net), device)
        copies = batch(*self.dataset.copies(i, q, config.seed))
        seed_all(config.seed)
        net, task = make_net(config)
        try:
            loss, epochs = train_on_pair(net.to(device), copies, task, config.train)
            test = embed(net, copies)
            reliability = embed(net, batch(*self.dataset.reliability_copies(i, q, config.seed)))
            T2 = {s: [t_squared(*test, s), t_squared(*reliability, s)] for s in STATISTICS}
        except FloatingPointError as error:
            return {"diverged": str(error)}
        return {"T2": T2, "loss": loss, "epochs": epochs}


def make_net(config):
    """(net, task) of a NetPairConfig, for graphs without features."""
    task = GraphEmbedding(config.test.d, config.train.margin)
    n_positions = config.net.pos_enc_dim if position_encoding(config.net) else 0
    return build_net(config.net, Features(node=None, edge=None, pos_enc_dim=n_positions), task), task


def position_encoding(net):
    """The function that gives a graph the positions which the net reads, or None for a net that needs none from outside."""
    functions = dict.fromkeys(EIGENVECTOR_ENCODINGS, laplacian_eigenvectors) | {"rand_walk": random_walk_returns}
    return partial(functions[net.pos_enc], k=net.pos_enc_dim) if net.pos_enc in functions else None


def paired_batches(batch_size, encode, device, a, b):
    """Copies a and b, each one DGLGraph of q blocks, as batches of `batch_size` graphs: first half from a, second half from b.

    Positions are computed for each copy anew. Moved from the first numbering to the others, they would be the same for all copies
    and hide that they depend on it.
    """
    copies_a, copies_b = dgl.unbatch(a), dgl.unbatch(b)
    if encode is not None:
        for g in (*copies_a, *copies_b):
            src, dst = (ends.numpy() for ends in g.edges())
            g.ndata["pos_enc"] = torch.from_numpy(encode(g.num_nodes(), src, dst))
    half = batch_size // 2
    chunks = [(copies_a[k : k + half], copies_b[k : k + half]) for k in range(0, len(copies_a), half)]
    return [dgl.batch([*some_a, *some_b]).to(device) for some_a, some_b in chunks]


def train_on_pair(net, batches, task, config):
    """Adam until the loss of an epoch is below config.early_stop: (that loss, number of epochs)."""
    optimizer = torch.optim.Adam(net.parameters(), lr=config.init_lr, weight_decay=config.weight_decay)
    scheduler = ReduceLROnPlateau(optimizer, patience=config.lr_schedule_patience)
    net.train()
    for epoch in range(1, config.epochs + 1):
        loss_sum, n_copies = 0.0, 0
        for g in batches:
            x, y = net(g).chunk(2)
            loss = task.loss(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += loss.item() * len(x)
            n_copies += len(x)
        mean = loss_sum / n_copies
        if not np.isfinite(mean):
            raise FloatingPointError(f"the loss is {mean} in epoch {epoch}")
        if mean < config.early_stop:
            break
        scheduler.step(mean)
    return mean, epoch


def embed(net, batches):
    """(x, y): embeddings (q, d) of the copies of the two graphs, in evaluation mode."""
    net.eval()
    with torch.no_grad():
        halves = [net(g).chunk(2) for g in batches]
    return tuple(torch.cat(side).cpu().numpy() for side in zip(*halves, strict=True))
