"""The exact twins of the nets of BREC's Tables 2 and 5: a hash in the place of each MLP, a multiset in the place of each sum.

A twin keeps what a net is told (radius, marks, distances), its number of layers, closed or open neighbourhoods, and how it pools.
What the twin does not tell apart, the net cannot tell apart with any weights. DropGNN and OSAN have no twin: one is random, the
other breaks ties by the numbers of the nodes.
"""

from exact.ego_nets import ego_nets
from exact.gnn_ak import gnn_ak
from exact.gsn import gsn
from exact.i2_gnn import i2_gnn
from exact.kc_set_gnn import kc_set_gnn
from exact.kp_gnn import kp_gnn
from exact.node_pairs import delta_2_lgnn, sswl_p
from exact.refinement import k_fwl
from exact.shared_ego_nets import dss_gnn, sun
from exact.spd_wl import graphormer

TWINS = {  # name of the net: (colours of a pair, the parameters of the net)
    "NGNN": (ego_nets, {"radius": 1, "told": 0, "layers": 6}),
    "DE+NGNN": (ego_nets, {"radius": 8, "told": 8, "layers": 6}),
    "DS-GNN": (ego_nets, {"radius": 6, "told": 1, "layers": 10}),
    "DSS-GNN": (dss_gnn, {"radius": 6, "layers": 9}),
    "SUN": (sun, {"radius": 6, "layers": 9}),
    "SSWL_P": (sswl_p, {"told": 8, "layers": 8}),
    "GNN-AK": (gnn_ak, {"radius": 6, "layers": 4, "inner_layers": 2}),
    "KP-GNN": (kp_gnn, {"K": 8, "layers": 8}),
    "I2-GNN": (i2_gnn, {"radius": 8, "layers": 5}),
    "PPGN": (k_fwl, {"k": 2, "iterations": 5}),  # a product of matrices over the middle node; it starts from A + I
    "delta-2-LGNN": (delta_2_lgnn, {"layers": 6}),
    "KC-SetGNN": (kc_set_gnn, {"layers": 4}),
    "GSN": (gsn, {"k": 4, "layers": 4}),
    "Graphormer": (graphormer, {"layers": 12}),
}
TABLE_5 = {  # the other GSNs; GSN itself is GSN-e(k=4)
    "GSN-v(k=3)": (gsn, {"k": 3, "layers": 4, "scope": "node"}),
    "GSN-v(k=4)": (gsn, {"k": 4, "layers": 4, "scope": "node"}),
    "GSN-e(k=3)": (gsn, {"k": 3, "layers": 4}),
}
