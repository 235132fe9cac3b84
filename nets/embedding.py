"""The input layer of B.1.1, eq. (10), and the positional encodings of section D."""

import torch
from torch import nn

EIGENVECTOR_ENCODINGS = ("eigvecs", "rand_sign", "abs")


def embed_feature(field, dim):
    """Eq. (10): a lookup table for categorical features (one-hot, so no bias), a linear map for continuous ones."""
    if field.n_types is not None:
        return nn.Embedding(field.n_types, dim)
    return nn.Linear(field.shape[-1], dim)


class LaplacianEncoding(nn.Module):
    """Laplacian eigenvectors p (N, k), mapped linearly to (N, dim). What happens to their arbitrary signs (section D):

    eigvecs    nothing
    rand_sign  each eigenvector of a batch keeps or flips its sign at random, in training only
    abs        absolute values

    With rand_walk, p are the return probabilities of random walks, which have no such freedom.
    """

    def __init__(self, k, dim, kind):
        super().__init__()
        self.kind = kind
        self.linear = nn.Linear(k, dim)

    def forward(self, p):
        if self.kind == "abs":
            p = p.abs()
        elif self.kind == "rand_sign" and self.training:
            p = p * (torch.randint(0, 2, (p.shape[1],), device=p.device) * 2 - 1)
        return self.linear(p)


class NodeIndexEncoding(nn.Module):
    """A learned vector for each number 0 … n_indices - 1 a node can have in its graph: g -> (N, dim). The numbers (section D):

    node_index       the order in which the dataset lists the nodes of a graph
    rand_node_index  in training, that order permuted at random in each graph, anew for each batch
    """

    def __init__(self, n_indices, dim, kind):
        super().__init__()
        self.kind = kind
        self.table = nn.Embedding(n_indices, dim)

    def forward(self, g):
        sizes = g.batch_num_nodes()
        largest = max(sizes.tolist(), default=0)
        if largest > self.table.num_embeddings:
            raise ValueError(
                f"net.pos_enc={self.kind!r}: a graph has {largest} nodes, but net.pos_enc_dim={self.table.num_embeddings} "
                f"numbers are embedded: set net.pos_enc_dim to {largest} or more"
            )
        N = g.num_nodes()
        first = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes, output_size=N)  # of the node's graph
        index = torch.arange(N, device=sizes.device) - first
        if self.kind == "rand_node_index" and self.training:
            shuffled = torch.randperm(N, device=sizes.device)
            index = index[shuffled[first[shuffled].argsort(stable=True)]]  # graph by graph again, shuffled in each
        return self.table(index)


class InputEmbedding(nn.Module):
    """h_i^0 from the node features and the positional encoding of node i: g -> (N, dim).

    The two are added (ZINC: 702 parameters more with 8 eigenvectors at width 78). A dataset without node features (CSL) gives
    every node one learned vector, and the positional encoding takes its place: that is what the printed counts of CSL say
    (GCN: 100,927 without, 2,920 = 20 x 146 more with 20 eigenvectors; GatedGCN: 2,800 = 40 x 70 more with 41 node numbers).
    """

    def __init__(self, features, config, dim):
        super().__init__()
        self.node = self.constant = self.pos_enc = None
        if features.node is not None:
            self.node = embed_feature(features.node, dim)
        elif config.pos_enc == "none":
            self.constant = nn.Embedding(1, dim)
        if config.n_eigenvectors or config.pos_enc == "rand_walk":
            if features.pos_enc_dim != config.pos_enc_dim:
                raise ValueError(
                    f"net.pos_enc={config.pos_enc!r}, net.pos_enc_dim={config.pos_enc_dim}, but the dataset carries "
                    f"{features.pos_enc_dim} such numbers a node: open the dataset with the same pos_enc_dim"
                )
            self.pos_enc = LaplacianEncoding(config.pos_enc_dim, dim, config.pos_enc)
        elif config.pos_enc != "none":
            self.pos_enc = NodeIndexEncoding(config.pos_enc_dim, dim, config.pos_enc)
        self.dropout = nn.Dropout(config.in_feat_dropout)

    def forward(self, g):
        h = 0
        if self.node is not None:
            h = self.dropout(self.node(g.ndata["feat"]))
        elif self.constant is not None:
            h = self.dropout(self.constant.weight.expand(g.num_nodes(), -1))
        if isinstance(self.pos_enc, NodeIndexEncoding):
            h = h + self.pos_enc(g)
        elif self.pos_enc is not None:
            h = h + self.pos_enc(g.ndata["pos_enc"])
        return h


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
        self.embed = embed_feature(features.edge, dim) if self.from_data else nn.Linear(self.n_ones, dim)

    def forward(self, g):
        if self.from_data:
            return self.embed(g.edata["feat"])
        return self.embed(self.embed.weight.new_ones(g.num_edges(), self.n_ones))
