"""The layer of PPGN as the BREC paper runs it: that of 3WLGNN with more ReLUs and with batch normalisation (appendix J)."""

import numpy as np
from torch.utils.checkpoint import checkpoint

from layers.three_wl_layer import ThreeWLLayer


class PPGNLayer(ThreeWLLayer):
    r"""PPGN, eq. (40)-(42) of 3WLGNN with a ReLU after every map of M_W and batch normalisation over all pairs of the batch.

        h' = BN(W_h h + W_m (M_W1(h) · M_W2(h)) + b)        M_W(h)_ij = ReLU(W h_ij + c), `depth_of_mlp` times

    The product is that of matrices in each channel, (A · B)_ij = Σ_p A_ip B_pj. Shapes: h (in_dim, B, n, n) -> (out_dim, B, n, n),
    zero at the padding. The normalisation has no scale and shift, and in
    evaluation it takes mean and variance of the last training batch, as in the published program.

    Of a batch with more than `max_pairs` pairs the activations are computed again in the backward pass instead of being kept. The
    normalisation then sees the same batch twice, which leaves the same mean and variance.

        >>> from layers.padding import Padding
        >>> h = PPGNLayer(3, 8)(torch.randn(3, 2, 5, 5), Padding(torch.tensor([5, 5]), torch.float32))
    """

    max_pairs = np.inf

    def __init__(self, in_dim, out_dim, depth_of_mlp=1):
        super().__init__(in_dim, out_dim, depth_of_mlp, batch_norm=True)

    def draw_weights(self, in_dim, out_dim):
        """W_h and W_m are two maps that start Xavier-uniform each."""

    def forward(self, h, padding):
        if self.training and h[0].numel() > self.max_pairs:
            return checkpoint(super().forward, h, padding, use_reentrant=False, preserve_rng_state=False)
        return super().forward(h, padding)
