"""One net per model. `NETS` is the plain dictionary of names; to add a model, write its file and add a line here."""

import process  # noqa: F401 - before torch is loaded

# isort: split
import torch

from nets.delta_lgnn_net import DeltaLGNNNet
from nets.dgcnn_net import DGCNNNet
from nets.diffpool_net import DiffPoolNet
from nets.dropgnn_net import DropGNNNet
from nets.ds_gnn_net import DSGNNNet
from nets.dss_gnn_net import DSSGNNNet
from nets.ecc_net import ECCNet
from nets.errors import NetError
from nets.fair_nets import DeepMultisetsNet, FairGINNet, FairGraphSAGENet, FingerprintNet
from nets.gat_net import GATNet
from nets.gatedgcn_net import GatedGCNNet
from nets.gcn_net import GCNNet
from nets.gcnii_net import GCNIINet
from nets.gin_net import GINNet
from nets.gine_net import GINENet
from nets.gnn_ak_net import GNNAKNet
from nets.gps_net import GPSNet
from nets.graphormer_net import GraphormerNet
from nets.graphsage_net import GraphSageNet
from nets.gsn_net import GSNNet
from nets.i2_gnn_net import I2GNNNet
from nets.kc_set_gnn_net import KCSetGNNNet
from nets.knn_heuristic import KNNHeuristic
from nets.kp_gnn_net import KPGNNNet
from nets.matrix_factorisation_net import MatrixFactorisationNet
from nets.mlp_net import MLPNet
from nets.monet_net import MoNetNet
from nets.ngnn_net import DENGNNNet, NGNNNet
from nets.osan_net import OSANNet
from nets.ppgn_net import PPGNNet
from nets.ring_net import RingGNNNet
from nets.san_net import SANNet
from nets.sswl_net import SSWLNet
from nets.sun_net import SUNNet
from nets.sym_gcn_net import SymGCNNet
from nets.taxonomy_nets import TaxonomyGCNNet, TaxonomyGINNet
from nets.three_wl_net import ThreeWLGNNNet
from nets.transformer_net import TransformerNet

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
    "Fingerprint": FingerprintNet,
    "DeepMultisets": DeepMultisetsNet,
    "DGCNN": DGCNNNet,
    "DiffPool": DiffPoolNet,
    "ECC": ECCNet,
    "FairGIN": FairGINNet,
    "FairGraphSAGE": FairGraphSAGENet,
    "TaxonomyGCN": TaxonomyGCNNet,
    "TaxonomyGIN": TaxonomyGINNet,
    "NGNN": NGNNNet,
    "DE+NGNN": DENGNNNet,
    "DS-GNN": DSGNNNet,
    "DSS-GNN": DSSGNNNet,
    "SUN": SUNNet,
    "SSWL_P": SSWLNet,
    "GNN-AK": GNNAKNet,
    "KP-GNN": KPGNNNet,
    "I2-GNN": I2GNNNet,
    "delta-2-LGNN": DeltaLGNNNet,
    "KC-SetGNN": KCSetGNNNet,
    "GSN": GSNNet,
    "DropGNN": DropGNNNet,
    "OSAN": OSANNet,
    "Graphormer": GraphormerNet,
    "SymGCN": SymGCNNet,
    "GCNII": GCNIINet,
    "GINE": GINENet,
    "Transformer": TransformerNet,
    "SAN": SANNet,
    "GPS": GPSNet,
}


def build_net(config, features, task, seed=None):
    """The net that `config` describes, for a dataset with these `features` and a task with a level and a number of outputs.

    With a seed the first weights are a function of it alone.
    """
    if seed is not None:
        torch.manual_seed(seed)
    net = NETS[config.model]
    levels = getattr(net, "levels", (task.level,))  # a class that says nothing predicts for all
    if task.level not in levels:
        raise NetError(f"net.model={config.model!r} predicts for each {', '.join(levels)}, not for each {task.level}")
    try:
        return getattr(net, "from_config", net)(config, features, task)
    except ValueError as error:
        raise NetError(str(error)) from error
    except (RuntimeError, MemoryError) as error:
        if "memory" not in str(error) and not isinstance(error, MemoryError):
            raise
        raise NetError(
            f"net: its parameters do not fit into memory ({str(error).splitlines()[-1]}): make it smaller"
        ) from error


def count_parameters(net):
    return sum(p.numel() for p in net.parameters())
