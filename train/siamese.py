"""One net and one pair of graphs (BREC, section 4): trained to tell them apart, then tested.

The q renumbered copies of the two graphs are the training data, in batches that never change, half of each batch copies of one
graph and half of the other. A fresh net for each pair, from the seed: the outcome of a pair depends on no other pair.
"""

import dgl
import numpy as np
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from data.dataset import Features
from data.transforms import TRANSFORMS
from nets import build_net, count_parameters
from nets.heads import as_scores
from train.loop import choose_device
from train.pairs import count_verdicts, verdicts_of
from train.random_state import make_deterministic, seed_all
from train.rpc import STATISTICS, t_squared
from train.tasks import GraphEmbedding


class NetJudge:
    """judge(i): the T² of pair i of a dataset, by a net that a NetPairConfig describes."""

    def __init__(self, config, dataset):
        self.config, self.dataset = config, dataset
        self.params = count_parameters(make_net(config)[0])

    def summarise(self, lines):
        """(metrics, which of them counts)."""
        return count_verdicts(self.config.test, lines)

    def further_columns(self, lines):
        """What the program's statistic says, which tables count."""
        verdicts = verdicts_of(self.config.test, lines, "program")
        told = [line["pair"] in verdicts and verdicts[line["pair"]].distinguished for line in lines]
        return {"distinguished": " ".join(str(int(one)) for one in told)}

    def __call__(self, i, sparing=False):
        """`sparing`: layers are computed again in the backward pass, for the same numbers with less memory."""
        config, q = self.config, self.config.test.q
        torch.set_num_threads(1)
        device = choose_device(config.device)
        make_deterministic(device)
        seed_all(config.seed)
        net, task = make_net(config)
        net.to(device).recompute = sparing

        def batches(copies):
            made = paired_batches(config.train.batch_size, config.net.needs, device, *copies)
            return [prepared(net, g) for g in made]

        copies = batches(self.dataset.copies(i, q, config.seed))
        try:
            loss, epochs = train_on_pair(net, copies, task, config.train)
            seed_all(config.seed)  # a net may draw in evaluation too
            test = embed(net, copies)
            reliability = embed(net, batches(self.dataset.reliability_copies(i, q, config.seed)))
            T2 = {s: [t_squared(*test, s), t_squared(*reliability, s)] for s in STATISTICS}
        except FloatingPointError as error:
            return {"diverged": str(error)}
        return {"T2": T2, "loss": loss, "epochs": epochs}


def make_net(config):
    """(net, task) of a NetPairConfig, for graphs without features."""
    task = GraphEmbedding(config.test.d, config.train.margin)
    return build_net(config.net, Features(node=None, edge=None), task), task


def prepared(net, g):
    """The arguments of a net for a batch: the graph, and what a net that prepares its batches makes of it, once."""
    return (g, net.prepare(g)) if hasattr(net, "prepare") else (g,)


def paired_batches(batch_size, needs, device, a, b):
    """Copies a and b, each one DGLGraph of q blocks, as batches of `batch_size` graphs: first half from a, second half from b.

    What the net's encodings need is computed for each copy anew. Moved from the first numbering to the others, it would be the
    same for all copies and hide that it depends on it.
    """
    copies_a, copies_b = dgl.unbatch(a), dgl.unbatch(b)
    for name, parameters in needs.items():
        for g in (*copies_a, *copies_b):
            src, dst = (ends.numpy() for ends in g.edges())
            g.ndata[name] = torch.from_numpy(TRANSFORMS[name].compute(g.num_nodes(), src, dst, **parameters))
    half = batch_size // 2
    chunks = [(copies_a[k : k + half], copies_b[k : k + half]) for k in range(0, len(copies_a), half)]
    return [dgl.batch([*some_a, *some_b]).to(device) for some_a, some_b in chunks]


def train_on_pair(net, batches, task, config):
    """Epochs until the loss of one is below config.stop.loss: (that loss, number of epochs)."""
    groups = getattr(net, "parameter_groups", None)  # of a net whose parts learn differently
    parameters = groups(config.optimizer.weight_decay) if groups else list(net.parameters())
    optimizer = config.optimizer.build(parameters, fused=False)
    scheduler = config.schedule.build(optimizer, config.stop, better="min")
    net.train()
    for epoch in range(1, config.stop.epochs + 1):
        loss_sum, n_copies = 0.0, 0
        for batch in batches:
            embeddings, penalty = as_scores(net(*batch))
            x, y = embeddings.chunk(2)
            loss = task.loss(x, y) + penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss_sum += loss.item() * len(x)
            n_copies += len(x)
        mean = loss_sum / n_copies
        if not np.isfinite(mean):
            raise FloatingPointError(f"the loss is {mean} in epoch {epoch}")
        if config.stop.loss is not None and mean < config.stop.loss:
            break
        scheduler.step(*([mean] if isinstance(scheduler, ReduceLROnPlateau) else []))
    return mean, epoch


def embed(net, batches):
    """(x, y): embeddings (q, d) of the copies of the two graphs, in evaluation mode."""
    net.eval()
    with torch.no_grad():
        halves = [net(*batch).chunk(2) for batch in batches]
    return tuple(torch.cat(side).cpu().numpy() for side in zip(*halves, strict=True))
