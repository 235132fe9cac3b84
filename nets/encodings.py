"""Positional and structural encodings: each says which transform of the data it needs and how that becomes a vector per node.

In a configuration `encodings` is a list: [{"kind": "LapPE", "k": 8, "signs": "flip"}]. To add an encoding, write its class and
add it to `AnyEncoding`.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from data.section import Section


class LapPE(Section):
    """Laplacian eigenvectors, section D of Benchmarking GNNs. Their signs are arbitrary: kept, flipped at random for each batch in
    training, or taken away by absolute values."""

    kind: Literal["LapPE"] = Field("LapPE", description="Laplacian eigenvectors")
    k: int = Field(gt=0, description="number of eigenvectors")
    signs: Literal["kept", "flip", "abs"] = Field("kept", description="what happens to the signs")

    @property
    def needs(self):
        return {"laplacian": {"k": self.k}}

    def read(self, g, training):
        """The numbers of each node, (N, k)."""
        p = g.ndata["laplacian"]
        if self.signs == "abs":
            return p.abs()
        if self.signs == "flip" and training:
            return p * (torch.randint(0, 2, (p.shape[1],), device=p.device) * 2 - 1)
        return p

    def build(self, dim):
        return LinearEncoding(self, dim)


class RWSE(Section):
    """Probabilities that a random walk is back at its start after 1, 2, … k steps."""

    kind: Literal["RWSE"] = Field("RWSE", description="return probabilities of random walks")
    k: int = Field(gt=0, description="number of steps")

    @property
    def needs(self):
        return {"walk_returns": {"k": self.k}}

    def read(self, g, training):
        """The numbers of each node, (N, k)."""
        return g.ndata["walk_returns"]

    def build(self, dim):
        return LinearEncoding(self, dim)


class NodeIndex(Section):
    """A learned vector for each index 0 … n - 1 that a node can have in its graph, section D."""

    kind: Literal["NodeIndex"] = Field("NodeIndex", description="index of the node in its graph")
    n: int = Field(gt=0, description="number of indices: at least the nodes of the largest graph")
    order: Literal["stored", "random"] = Field(
        "stored", description="as the dataset lists the nodes, or permuted at random for each batch in training"
    )

    @property
    def needs(self):
        return {}

    def build(self, dim):
        return NodeIndexEncoding(self, dim)


AnyEncoding = Annotated[LapPE | RWSE | NodeIndex, Field(discriminator="kind")]
AnyNumbers = Annotated[
    LapPE | RWSE, Field(discriminator="kind")
]  # those that give numbers per node, without parameters


class LinearEncoding(nn.Module):
    """The numbers of an encoding, mapped linearly: g -> (N, dim)."""

    def __init__(self, encoding, dim):
        super().__init__()
        self.encoding, self.linear = encoding, nn.Linear(encoding.k, dim)

    def forward(self, g):
        return self.linear(self.encoding.read(g, self.training))


class NodeIndexEncoding(nn.Module):
    """A row of a table per node: g -> (N, dim)."""

    def __init__(self, encoding, dim):
        super().__init__()
        self.encoding, self.table = encoding, nn.Embedding(encoding.n, dim)

    def forward(self, g):
        sizes = g.batch_num_nodes()
        largest = max(sizes.tolist(), default=0)
        if largest > self.table.num_embeddings:
            raise ValueError(
                f"net.encodings: NodeIndex has n={self.table.num_embeddings}, but a graph has {largest} nodes: "
                f"set n to {largest} or more"
            )
        N = g.num_nodes()
        first = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes, output_size=N)  # of the node's graph
        index = torch.arange(N, device=sizes.device) - first
        if self.encoding.order == "random" and self.training:
            shuffled = torch.randperm(N, device=sizes.device)
            by_graph = first[shuffled].argsort(stable=True)  # graph by graph again, shuffled in each
            index = index[shuffled[by_graph]]
        return self.table(index)


def needs_of(encodings):
    """{transform: its parameters} of all encodings. Two encodings cannot need one transform with different parameters."""
    wanted = {}
    for encoding in encodings:
        for name, parameters in encoding.needs.items():
            if wanted.setdefault(name, parameters) != parameters:
                raise ValueError(
                    f"encodings need {name} with {wanted[name]} and with {parameters}: give them the same numbers"
                )
    return wanted
