"""The input layer of B.1.1, eq. (10): node and edge features become vectors; encodings (nets/encodings.py) are added
to those of the nodes or stand beside them."""

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import nn

from data.section import Section
from layers import fused


class Standardise(Section):
    """Means and deviations of numbers, as of the training part: the retuned rows of LRGB read (x - mean) / sd."""

    node_mean: list[float] = Field([], description="mean of each node feature; none: they are read as they are")
    node_sd: list[float] = Field([], description="deviation of each node feature")
    edge_mean: list[float] = Field([], description="mean of each edge feature; none: they are read as they are")
    edge_sd: list[float] = Field([], description="deviation of each edge feature")

    def of(self, level):
        return getattr(self, f"{level}_mean"), getattr(self, f"{level}_sd")


class Standard(nn.Module):
    """(x - mean) / sd, column by column: x (…, d) -> (…, d)."""

    def __init__(self, mean, sd, place, n_columns):
        super().__init__()
        if not len(mean) == len(sd) == n_columns:
            raise ValueError(
                f"net.standardise: {len(mean)} means, {len(sd)} deviations, but the dataset has {n_columns} numbers per {place}"
            )
        self.register_buffer("mean", torch.tensor(mean), persistent=False)
        self.register_buffer("sd", torch.tensor(sd), persistent=False)

    def forward(self, x):
        return (x - self.mean) / self.sd


def embed_feature(field, dim, standardise=Standardise()):  # noqa: B008 - frozen
    """Eq. (10): a lookup table for categorical features (one-hot, so no bias), a linear map for continuous ones, which may be
    standardised first."""
    if any(standardise.of(field.level)):
        if field.n_types is not None:
            raise ValueError(f"net.standardise: the {field.level} features are categories: give no means")
        standard = Standard(*standardise.of(field.level), field.level, field.shape[-1])
        return nn.Sequential(standard, nn.Linear(field.shape[-1], dim))
    if isinstance(field.n_types, tuple):
        return ColumnEmbedding(field.n_types, dim)
    if field.n_types is not None:
        return nn.Embedding(field.n_types, dim)
    return nn.Linear(field.shape[-1], dim)


def n_numbers(field):
    """Columns of `as_numbers`."""
    if isinstance(field.n_types, tuple):
        return sum(field.n_types)
    return field.n_types if field.n_types is not None else field.shape[-1]


def as_numbers(field, values, dtype):
    """Features (rows, n_numbers): continuous ones as they are, categorical ones one-hot, a block for each column."""
    if isinstance(field.n_types, tuple):
        columns = zip(values.long().unbind(1), field.n_types, strict=True)
        return torch.cat([F.one_hot(column, n) for column, n in columns], 1).to(dtype)
    if field.n_types is not None:
        return F.one_hot(values.long(), field.n_types).to(dtype)
    return values.to(dtype)


class ColumnEmbedding(nn.Module):
    """Σ_k T_k[x_ik]: the sum of an embedding for each categorical column. x (N, len(n_types)) -> (N, dim).

    The tables T_k, each started uniformly (Glorot) as OGB's atom and bond encoders are, stand below each other in one:
    that of column k begins at row first[k].

        >>> h = ColumnEmbedding((119, 4, 12), 8)(torch.tensor([[6, 0, 3], [7, 1, 2]]))
    """

    def __init__(self, n_types, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(sum(n_types), dim))
        for table in self.weight.data.split(n_types):
            nn.init.xavier_uniform_(table)
        self.register_buffer("first", torch.tensor(n_types).cumsum(0) - torch.tensor(n_types), persistent=False)

    def forward(self, x):
        return F.embedding_bag(x + self.first, self.weight, mode="sum")


class InputEmbedding(nn.Module):
    """h_i^0 from the node features and the encodings of node i: g -> (N, dim).

    An encoding is added to the embedded features (Benchmarking GNNs; ZINC: 702 parameters more with 8 eigenvectors at width 78).
    One with a `dim` stands beside them (LRGB), and they have so many numbers fewer:

        h_i^0 = [ embed(x_i) + Σ added_i | beside_i | … ]

    A dataset without node features (CSL) gives every node one learned vector. Added encodings take its place: that is what the
    printed counts of CSL say (GCN: 100,927 without, 2,920 = 20 x 146 more with 20 eigenvectors; GatedGCN: 2,800 = 40 x 70 more with
    41 node numbers).
    """

    def __init__(self, features, config, dim):
        super().__init__()
        beside = sum(encoding.dim or 0 for encoding in config.encodings)
        if beside >= dim:
            raise ValueError(
                f"net.encodings: {beside} of the {dim} numbers of a node: choose smaller dim, or a wider net"
            )
        self.node = self.constant = None
        if features.node is not None:
            self.node = embed_feature(features.node, dim - beside, config.standardise)
        elif all(encoding.dim for encoding in config.encodings):
            self.constant = nn.Embedding(1, dim - beside)
        self.encodings = nn.ModuleList(encoding.build(encoding.dim or dim - beside) for encoding in config.encodings)
        self.beside = [encoding.dim is not None for encoding in config.encodings]
        self.dropout = nn.Dropout(config.in_feat_dropout)

    def forward(self, g):
        h, beside = 0, []
        if self.node is not None:
            h = self.embedded(g.ndata["feat"])
        elif self.constant is not None:
            h = self.dropout(self.constant.weight.expand(g.num_nodes(), -1))
        for encoding, stands_beside in zip(self.encodings, self.beside, strict=True):
            if stands_beside:
                beside.append(encoding(g))
            else:
                h = h + encoding(g)
        return torch.cat([h, *beside], 1) if beside else h

    def embedded(self, x):
        if isinstance(self.node, nn.Embedding) and (self.dropout.p == 0 or not self.training):
            return fused.lookup(self.node.weight, x)  # the same: the first layer can make use of the few rows
        return self.dropout(self.node(x))


class EdgeEmbedding(nn.Module):
    """e_ij^0, eq. (10): from the dataset's edge features (the -E models) or the same for every edge: g -> (E, dim).

    Without them each edge is given ones: as many as a continuous edge feature has numbers, or, where a dataset has no edge
    features, a continuous node feature. The counts say so: models with and without -E are equal on COLLAB (2 numbers) and
    TSP (1), and those of the TU datasets fit 18, 89 and 29 ones.
    """

    def __init__(self, features, config, dim):
        super().__init__()
        self.from_data = config.edge_feat
        if self.from_data and features.edge is None:
            raise ValueError("net.edge_feat=True, but the dataset has no edge features: set it to false")
        field = features.edge or features.node
        self.n_ones = 1 if field is None or field.n_types is not None else field.shape[-1]
        if self.from_data:
            self.embed = embed_feature(features.edge, dim, config.standardise)
        else:
            self.embed = nn.Linear(self.n_ones, dim)

    def forward(self, g):
        if self.from_data:
            return self.embed(g.edata["feat"])
        return self.compact(g).expand(g.num_edges(), -1)

    def compact(self, g):
        """The same as one row, (1, dim), where it is the same for every edge."""
        if self.from_data:
            return self(g)
        return self.embed(self.embed.weight.new_ones(1, self.n_ones))
