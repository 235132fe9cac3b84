"""Set2Set: a read-out in which an LSTM asks the elements of a set several times, each time weighted by how well they answer."""

import torch
from torch import nn


class Set2Set(nn.Module):
    r"""`n_steps` rounds of attention over the rows of each graph. q* starts at 0.

        q = LSTM(q*)        w_t = softmax_t(x_t · q)        q* = [q ; Σ_t w_t x_t]

    Shapes: x (R, dim), graph (R,), the number of each row's graph -> q* (B, 2 dim). The state of the LSTM is kept over the rounds.

        >>> q = Set2Set(8)(torch.ones(5, 8), torch.tensor([0, 0, 0, 1, 1]), 2)
    """

    def __init__(self, dim, n_steps=6):
        super().__init__()
        self.lstm, self.n_steps = nn.LSTMCell(2 * dim, dim), n_steps

    def forward(self, x, graph, B):
        q_star, state = x.new_zeros(B, 2 * x.shape[1]), None
        for _ in range(self.n_steps):
            state = self.lstm(q_star, state)
            q = state[0]
            w = softmax((x * q.index_select(0, graph)).sum(1), graph, B)
            q_star = torch.cat([q, torch.zeros_like(q).index_add(0, graph, w[:, None] * x)], 1)
        return q_star


def softmax(x, graph, B):
    """Over the rows of each graph: (R,) -> (R,)."""
    largest = x.detach().new_zeros(B).scatter_reduce(0, graph, x.detach(), "amax", include_self=False)
    e = torch.exp(x - largest.index_select(0, graph))
    return e / e.new_zeros(B).index_add(0, graph, e).index_select(0, graph)
