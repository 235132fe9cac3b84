"""Positional and structural encodings: each says which transform of the data it needs and how that becomes a vector per node.

In a configuration `encodings` is a list: [{"kind": "LapPE", "k": 8, "signs": "flip"}, {"kind": "RWSE", "k": 16, "dim": 20}]. To add
an encoding, write its class and add it to `AnyEncoding`:

    needs           the transforms of data/transforms that the dataset must compute, {name: parameters}; each is a node field
    build(dim)      the module g -> (N, dim) that reads them
"""

from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from pydantic import Field, model_validator
from torch import nn

from data.section import Section
from nets.errors import NetError

N_HEADS = 4  # of TransformerEncoding


class Encoding(Section):
    """Where the vectors of an encoding go: added to the embedded node features, or beside them."""

    version: ClassVar[int] = 1  # raised when what is computed changes, also by the transforms that it needs

    dim: int | None = Field(
        None, gt=0, description="numbers beside the node features, which have so many fewer; null: added to them"
    )

    @property
    def needs(self):
        return {}


class LapPE(Encoding):
    """Laplacian eigenvectors. Their signs are arbitrary: kept, flipped at random for each batch in training (one sign for each
    eigenvector, the same in all graphs), or taken away by absolute values.

    As in section D of Benchmarking GNNs they are mapped linearly, by default without the trivial one; missing ones of small graphs
    are 0. A DeepSet or a Transformer over the pairs (eigenvector, eigenvalue), as in the Long Range Graph Benchmark, knows which
    are missing.
    """

    kind: Literal["LapPE"] = Field("LapPE", description="Laplacian eigenvectors")
    k: int = Field(gt=0, description="number of eigenvectors")
    signs: Literal["kept", "flip", "abs"] = Field("kept", description="what happens to the signs")
    norm: Literal["sym", "none"] = Field("sym", description="Laplacian I - D^-1/2 A D^-1/2, or D - A")
    trivial: bool = Field(False, description="the first eigenvector, of eigenvalue 0, is one of them")
    net: Literal["linear", "DeepSet", "Transformer"] = Field(
        "linear", description="what reads the eigenvectors; the last two read the eigenvalues too"
    )
    solver: Literal["symmetric", "general"] = Field(
        "symmetric",
        description="general: as the program of Benchmarking GNNs, vectors of equal eigenvalues as they come",
    )

    @model_validator(mode="after")
    def general_alone(self):
        if self.solver == "general" and "spectrum" in self.needs:
            raise ValueError("solver=general: goes with norm=sym, trivial=false and net=linear alone")
        return self

    @property
    def needs(self):
        if (self.norm, self.trivial, self.net) == ("sym", False, "linear"):
            return {"laplacian": {"k": self.k} | ({"solver": self.solver} if self.solver != "symmetric" else {})}
        return {"spectrum": {"k": self.k, "norm": self.norm, "trivial": self.trivial}}

    @property
    def width(self):
        return self.k

    def read(self, g, training):
        """The numbers of each node, (N, k)."""
        if "spectrum" in self.needs:
            return self.pairs(g, training)[:, :, 0].nan_to_num()
        return self._signed(g.ndata["laplacian"], training)

    def pairs(self, g, training):
        """(N, k, 2): an eigenvector's number at each node, and its eigenvalue; NaN where a graph has fewer than k."""
        p = g.ndata["spectrum"]
        return torch.stack([self._signed(p[:, :, 0], training), p[:, :, 1]], 2)

    def _signed(self, p, training):
        if self.signs == "abs":
            return p.abs()
        if self.signs == "flip" and training:
            return p * (torch.randint(0, 2, (p.shape[1],), device=p.device) * 2 - 1)
        return p

    def build(self, dim):
        return {"linear": LinearEncoding, "DeepSet": DeepSetEncoding, "Transformer": TransformerEncoding}[self.net](
            self, dim
        )


class RWSE(Encoding):
    """Probabilities that a random walk is back at its start after 1, 2, … k steps, mapped linearly. The Long Range Graph Benchmark
    normalises them before (batch_norm) and lets a walk end at a node without edges (dead_end)."""

    kind: Literal["RWSE"] = Field("RWSE", description="return probabilities of random walks")
    k: int = Field(gt=0, description="number of steps")
    batch_norm: bool = Field(False, description="batch normalisation of the probabilities before the linear map")
    dead_end: Literal["stay", "end"] = Field("stay", description="what a walk does at a node that no edge leaves")

    @property
    def needs(self):
        return {"walk_returns": {"k": self.k} | ({"dead_end": "end"} if self.dead_end == "end" else {})}

    @property
    def width(self):
        return self.k

    def read(self, g, training):
        """The numbers of each node, (N, k)."""
        return g.ndata["walk_returns"]

    def build(self, dim):
        return LinearEncoding(self, dim, self.batch_norm)


class Degree(Encoding):
    """The number of edges that enter a node, as a number or one-hot, mapped linearly. A batch knows it: no transform is needed."""

    kind: Literal["Degree"] = Field("Degree", description="degree of the node")
    one_hot: int | None = Field(
        None, gt=0, description="one-hot for 0 … so many, which stands for larger ones too; null: a number"
    )

    @property
    def width(self):
        return 1 if self.one_hot is None else self.one_hot + 1

    def read(self, g, training):
        """The numbers of each node, (N, width)."""
        degree = g.in_degrees().long()
        if self.one_hot is None:
            return degree[:, None].to(torch.get_default_dtype())
        return F.one_hot(degree.clamp(max=self.one_hot), self.width).to(torch.get_default_dtype())

    def build(self, dim):
        return LinearEncoding(self, dim)


class NodeIndex(Encoding):
    """A learned vector for each index 0 … n - 1 that a node can have in its graph, section D. A batch knows it: no transform is
    needed."""

    kind: Literal["NodeIndex"] = Field("NodeIndex", description="index of the node in its graph")
    n: int = Field(gt=0, description="number of indices: at least the nodes of the largest graph")
    order: Literal["stored", "random"] = Field(
        "stored", description="as the dataset lists the nodes, or permuted at random for each batch in training"
    )

    def build(self, dim):
        return NodeIndexEncoding(self, dim)


AnyEncoding = Annotated[LapPE | RWSE | Degree | NodeIndex, Field(discriminator="kind")]
# those that give numbers per node: `width` of them, by `read`
AnyNumbers = Annotated[LapPE | RWSE | Degree, Field(discriminator="kind")]


class LinearEncoding(nn.Module):
    """W x + b of the numbers x of an encoding, after batch normalisation if `batch_norm`: g -> (N, dim)."""

    def __init__(self, encoding, dim, batch_norm=False):
        super().__init__()
        self.encoding, self.norm = encoding, nn.BatchNorm1d(encoding.width) if batch_norm else None
        self.linear = nn.Linear(encoding.width, dim)

    def forward(self, g):
        x = self.encoding.read(g, self.training).to(self.linear.weight.dtype)
        return self.linear(x if self.norm is None else self.norm(x))


class DeepSetEncoding(nn.Module):
    r"""Σ_j ReLU(B ReLU(A [v_ij, λ_j] + a) + b), over the eigenvectors v_j of eigenvalue λ_j that the graph has: g -> (N, dim).

    A: 2 -> 2 dim, B: 2 dim -> dim (LRGB, the LapPE of GatedGCN and of the Transformer).
    """

    def __init__(self, encoding, dim):
        super().__init__()
        self.encoding, self.A, self.B = encoding, nn.Linear(2, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, g):
        pairs = self.encoding.pairs(g, self.training).to(self.A.weight.dtype)
        missing = pairs[:, :, :1].isnan()
        x = F.relu(self.B(F.relu(self.A(pairs.nan_to_num()))))
        return x.masked_fill(missing, 0).sum(1)


class TransformerEncoding(nn.Module):
    r"""Σ_j x_ij with x_i = Transformer(A [v_i, λ] + a), two encoder layers in which the eigenvectors of node i attend to each
    other: g -> (N, dim).

    As in LRGB (the LapPE of SAN): 4 heads, layer normalisation after each block, and what the library has by default: 2048 hidden
    numbers, ReLU, dropout 0.1.
    """

    def __init__(self, encoding, dim):
        super().__init__()
        if dim % N_HEADS:
            raise ValueError(
                f"net.encodings: dim={dim} with net=Transformer: expected a multiple of its {N_HEADS} heads"
            )
        self.encoding, self.A = encoding, nn.Linear(2, dim)
        layer = nn.TransformerEncoderLayer(dim, N_HEADS, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, g):
        pairs = self.encoding.pairs(g, self.training).to(self.A.weight.dtype)
        missing = pairs[:, :, 0].isnan()
        nobody = missing & ~missing.all(1, keepdim=True)  # a softmax over nothing would be NaN
        x = self.transformer(self.A(pairs.nan_to_num()), src_key_padding_mask=nobody)
        return x.masked_fill(missing[:, :, None], 0).sum(1)


class NodeIndexEncoding(nn.Module):
    """A row of a table per node: g -> (N, dim)."""

    def __init__(self, encoding, dim):
        super().__init__()
        self.encoding, self.table = encoding, nn.Embedding(encoding.n, dim)

    def forward(self, g):
        sizes = g.batch_num_nodes()
        largest = max(sizes.tolist(), default=0)
        if largest > self.table.num_embeddings:
            raise NetError(
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
