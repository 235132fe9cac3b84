"""One net a model. `NETS` is the plain dictionary of names; to add a model, write its file and add a line here."""

from nets.gcn_net import GCNNet
from nets.mlp_net import MLPNet

NETS = {"MLP": MLPNet, "GCN": GCNNet}


def build_net(config, features, task):
    """The net that `config` describes, for a dataset with these `features` and a task with a level and a number of outputs."""
    return NETS[config.model](config, features, task)


def count_parameters(net):
    return sum(p.numel() for p in net.parameters())
