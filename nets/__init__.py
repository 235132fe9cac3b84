"""One net per model. `NETS` is the plain dictionary of names; to add a model, write its file and add a line here."""

import process  # noqa: F401 - before torch is loaded

# isort: split
import torch

from nets.gat_net import GATNet
from nets.gatedgcn_net import GatedGCNNet
from nets.gcn_net import GCNNet
from nets.gin_net import GINNet
from nets.graphsage_net import GraphSageNet
from nets.knn_heuristic import KNNHeuristic
from nets.matrix_factorisation_net import MatrixFactorisationNet
from nets.mlp_net import MLPNet
from nets.monet_net import MoNetNet
from nets.ppgn_net import PPGNNet
from nets.ring_net import RingGNNNet
from nets.three_wl_net import ThreeWLGNNNet

NETS = {
    "MLP": MLPNet,
    "GCN": GCNNet,
    "GraphSage": GraphSageNet,
    "MoNet": MoNetNet,
    "GAT": GATNet,
    "GatedGCN": GatedGCNNet,
    "GIN": GINNet,
    "RingGNN": RingGNNNet,
    "3WLGNN": ThreeWLGNNNet,
    "PPGN": PPGNNet,
    "MF": MatrixFactorisationNet,
    "kNN": KNNHeuristic,
}


class NetError(ValueError):
    """A net that cannot be built for this dataset: the message says which key to change."""


def build_net(config, features, task, seed=None):
    """The net that `config` describes, for a dataset with these `features` and a task with a level and a number of outputs.

    With a seed the first weights are a function of it alone.
    """
    if seed is not None:
        torch.manual_seed(seed)
    try:
        return NETS[config.model](config, features, task)
    except ValueError as error:
        raise NetError(str(error)) from error


def count_parameters(net):
    return sum(p.numel() for p in net.parameters())
