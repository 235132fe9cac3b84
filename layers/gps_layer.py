"""The layer of GPS: message passing and attention side by side (the retuned rows of LRGB)."""

import torch.nn.functional as F
from torch import nn

from layers.attention import GraphAttention
from layers.gatedgcn_layer import GatedGCNLayer
from layers.graph_norm import GraphLayerNorm
from layers.transformer_layer import FeedForward

NORMS = {"batch": nn.BatchNorm1d, "layer": GraphLayerNorm}


class GPSLayer(nn.Module):
    r"""GatedGCN and attention of the same h, each with its residual connection and normalisation; their sum through two maps.

        l_i, e_ij' = GatedGCN(h, e), with Drop(GELU(BN(·))) and no residual connection of the nodes
        a_i  = norm(h_i + l_i) + norm(h_i + Drop(Attention(h)_i))    h_i' = norm(a_i + Drop(W_2 Drop(GELU(W_1 a_i + b_1)) + b_2))

    Shapes: h (N, dim), e (E, dim) -> h' (N, dim), e' (E, dim). Edge j -> i is stored as (src=j, dst=i). The three norms are apart:
    BN ("batch") or over the graph ("layer", layers/graph_norm.py). With edges=False e' is not computed: None.

        >>> g = dgl.batch([dgl.graph(([0], [1])), dgl.graph(([0, 1], [1, 2]))])
        >>> h, e = GPSLayer(8, n_heads=2)(g, torch.randn(5, 8), torch.randn(3, 8))
    """

    def __init__(self, dim, n_heads, dropout=0.0, attention_dropout=0.0, norm="batch"):
        super().__init__()
        if norm not in NORMS:
            raise ValueError(f"norm={norm!r}: expected one of {', '.join(NORMS)}")
        options = {"dropout": dropout, "activation": F.gelu, "keep_residual": True}
        self.local = GatedGCNLayer(dim, dim, **options)
        self.local.update_h.residual = False
        self.attention = GraphAttention(dim, n_heads, attention_dropout)
        self.norm_local, self.norm_attention = NORMS[norm](dim), NORMS[norm](dim)
        self.feed_forward = FeedForward(dim, F.gelu, dropout)
        self.norm_out = NORMS[norm](dim)
        self.is_graph_wise, self.dropout = norm == "layer", nn.Dropout(dropout)

    def forward(self, g, h, e, edges=True, pieces=None):
        local, e = self.local(g, h, e, edges)
        a = self._norm(self.norm_local, g, h + local)
        a = a + self._norm(self.norm_attention, g, h + self.dropout(self.attention(g, h, pieces)))
        return self._norm(self.norm_out, g, a + self.feed_forward(a)), e

    def _norm(self, norm, g, h):
        return norm(g, h) if self.is_graph_wise else norm(h)
