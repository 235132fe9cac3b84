"""Layers against plain numbers of the program that made the tables: outputs and gradients, in evaluation and in training.

Nothing is stored but the results: the k-th number of all parameters, one after another, is cos k, and so are the inputs. The nets
of tests/nets/test_golden.py are the same comparison at full size.
"""

import math

import dgl
import pytest
import torch

from layers.gat_layer import EdgeFeatGATLayer, EdgeReprGATLayer
from layers.graphsage_layer import GraphSageEdgeReprLayer, GraphSageLayer
from layers.monet_layer import MoNetLayer
from layers.padding import Padding
from layers.ring_layer import RingLayer
from layers.three_wl_layer import ThreeWLLayer

SRC, DST, N, D = [0, 1, 1, 2, 0], [1, 0, 2, 1, 2], 3, 2
CASES = {  # layer, whether it is dense
    "GraphSage": (lambda: GraphSageLayer(D, D), False),
    "GraphSage edgereprfeat": (lambda: GraphSageEdgeReprLayer(D, D), False),
    "MoNet": (lambda: MoNetLayer(D, D, n_kernels=2), False),
    "GAT edgefeat": (lambda: EdgeFeatGATLayer(D, D, n_heads=2), False),
    "GAT edgereprfeat": (lambda: EdgeReprGATLayer(D, D, n_heads=2), False),
    "3WLGNN": (lambda: ThreeWLLayer(D, D, residual=True), True),
    "RingGNN": (lambda: RingLayer(D, D), True),
}
ORDERS = {
    "GAT edgereprfeat": ["V", "B", "b", "U", "update_h", "A", "update_e"]
}  # in which the parameters were numbered


def cosines(shape, start):
    """cos start, cos (start + 1), ..."""
    return torch.arange(start, start + math.prod(shape), dtype=torch.float64).cos().view(shape)


def filled(layer, order=None):
    """Parameters and running means from the cosines, running variances 1.5 above them."""
    layer, start = layer.double(), 1
    state = layer.state_dict()
    names = state if order is None else sorted(state, key=lambda name: order.index(name.split(".")[0]))
    for name in names:
        value = state[name]
        if value.is_floating_point():
            value.copy_(cosines(value.shape, start) + 1.5 * name.endswith("running_var"))
            start += value.numel()
    return layer


def inputs_of(name):
    if CASES[name][1]:
        return [cosines((D, 1, N, N), 1)]
    return [cosines((N, D), 1), cosines((len(SRC), D), 2)][: 2 if "edgereprfeat" in name else 1]


def run(layer, name, mode):
    """Outputs, and the gradients of the inputs when the cosines from 7 on weigh the outputs."""
    layer.train(mode == "train")
    inputs = [x.requires_grad_() for x in inputs_of(name)]
    if CASES[name][1]:
        outputs = (layer(*inputs, Padding(torch.tensor([N]), torch.float64)),)
    else:
        outputs = layer(dgl.graph((SRC, DST)), *inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    sum((y * cosines(y.shape, 7)).sum() for y in outputs).backward()
    return [x.detach().flatten() for x in (*outputs, *(x.grad for x in inputs))]


# fmt: off
NUMBERS = {  # outputs, then gradients of the inputs
    ("GraphSage", "eval"): [
        [1.3757558469, 0.4679401092, -0.1545389556, 0.2304433249, 1.1191157265, 1.9620978163],
        [0.7936044901, -0.1760791367, -0.9027574563, -0.8335433751, 0.0258881666, 0.9317158737],
    ],
    ("GraphSage", "train"): [
        [1.5290069241, -0.4748078612, -0.0012878784, -0.7123046455, 1.2723668036, 2.3017385214],
        [0.7542676584, -0.1457814721, -0.9110532018, -0.8390206501, 0.0046232303, 0.8446626059],
    ],
    ("GraphSage edgereprfeat", "eval"): [
        [1.3757558469, 0.4679401092, -0.1545389556, 0.2304433249, 1.1191157265, 1.8798854747],
        [0.3776578608, -0.1872331320, 0.1401610765, 0.4354676914, 1.7539749840, 0.3285790549, 0.6483046636,
         -0.9059647111, -0.0452668317, -0.4208975015],
        [0.9835537803, 0.4250032094, -0.7709322731, -0.3602233463, 0.0224521651, 0.9958755307],
        [0.7550691563, -0.0709186380, -0.9044009560, -0.4089745446, 0.0042890138, 0.8351179198, 0.9063501567,
         0.0666475260, -0.7330554831, -0.9333713353],
    ],
    ("GraphSage edgereprfeat", "train"): [
        [1.5290069241, -0.4731150466, -0.0012878784, -0.7106118310, 1.2723668036, 2.2983528923],
        [-0.1495039042, -0.0111570601, -0.3870006885, -0.1093351654, 1.2268132190, -0.8553473242, 0.1211428986,
         -1.6131594985, -0.5724285967, -1.6048238806],
        [0.9379940327, 0.3997514083, -0.8698839937, -0.6975997097, -0.1030157126, 0.5203418408],
        [0.7508732848, -0.3390936531, -0.9005718373, -0.1642401784, 0.0043806740, 0.8409762924, 0.9019328327,
         -0.2156814092, -0.7509151444, -0.9496589233],
    ],
    ("MoNet", "eval"): [
        [0.6636650923, 0.0080321708, -1.5228255169, -0.2294646135, 0.1875927150, 1.3843492940],
        [0.7519903558, -0.1455607383, -1.2539845958, -0.8664879994, 0.0044256980, 0.8438539587],
    ],
    ("MoNet", "train"): [
        [0.6864424616, 0.0080321708, -1.5228255169, -0.2294646135, -0.1514298379, 1.3843492940],
        [1.0506610114, -0.1360776734, -0.8131594265, -0.8115189423, -0.0973924739, 0.8308197048],
    ],
    ("GAT edgefeat", "eval"): [
        [2.4676298651, 1.3255068177, -0.4208733070, 0.0621137307, 1.9713713412, 2.1895605841],
        [0.9221625315, 0.3167651389, -1.5458887396, -1.5306409370, 0.5054165509, 1.2307227870],
    ],
    ("GAT edgefeat", "train"): [
        [1.3645401352, 1.4548600530, -1.7081392390, -0.8218854636, 0.7390701565, 1.8049388302],
        [0.5112821329, -0.0406312596, -1.2817263252, -0.7774493807, 0.2787970026, 0.7427587042],
    ],
    ("GAT edgereprfeat", "eval"): [
        [1.1895781703, -1.1034238501, -1.4258671651, -1.3059819549, 0.4371341778, 0.2616370000],
        [0.4005193335, -1.5578744941, 0.4064950306, -0.1844167349, 2.2187862559, 0.1288754348, 0.5971363089,
         -1.2301898866, 0.9871962616, -0.6928507627],
        [0.4790216197, -0.4431374853, -0.5600004869, -0.4340552658, -0.1820942400, 0.5677648050],
        [0.6495451014, -0.4767984756, -0.8150365486, -0.4318845546, 0.0220351761, 0.8376265931, 0.7856614358,
         -0.2639253959, -0.6746666143, -0.6186407554],
    ],
    ("GAT edgereprfeat", "train"): [
        [1.1207875588, -1.1013360157, -1.8291163758, -1.0101678142, -0.0437027765, 0.2059724598],
        [-0.9563727778, -1.6020435198, -0.8377332669, 0.0045551626, 1.2242897728, 0.0080501396, -0.7593072478,
         -0.5019397691, 0.7623147144, -0.8613250168],
        [-0.0126433147, -0.4674151416, -0.3947631420, -0.9135231288, 0.2542715307, 1.2410188549],
        [0.6954604133, -0.3552373910, -0.7899800486, -0.1361192555, -0.0161017051, 0.6024564358, 0.9113646819,
         -0.0124838318, -0.8045591551, -1.0605089638],
    ],
    ("3WLGNN", "eval"): [
        [-0.8695733110, -0.5155351186, -0.1301266763, 0.0402604497, -0.3853945333, -0.7498826545, -0.9124229351,
         -0.6369449578, -0.2065621574, -0.2506548333, -0.7096719424, -0.9875816469, -0.8307357644, -0.3797063814,
         -0.0531456323, -0.1486700349, -0.5794755842, -0.9490485378],
        [-0.3872620797, -0.1429607920, 0.2327779886, 0.3914888442, 0.2051781219, -0.1810614162, -0.7486768911,
         -0.3261764696, 0.1342726727, 0.3984551255, -0.0734354707, -0.4778098337, -0.4466861085, -0.2689880692,
         0.4376285938, 0.6329211184, 0.1090604880, -0.3974393320],
    ],
    ("RingGNN", "eval"): [
        [0.0000000000, 0.0000000000, 0.8203958191, 0.0000000000, 0.0000000000, 0.0000000000, 0.0000000000,
         0.0000000000, 0.1827697057, 0.0000000000, 0.0000000000, 0.0000000000, 0.0000000000, 0.0000000000,
         0.0000000000, 0.0000000000, 0.0000000000, 0.0000000000],
        [0.4802131344, 0.3646712650, -0.0879245675, -0.7396167770, -0.6727048442, 0.0747610602, -2.6902957047,
         0.1341462083, 0.2650452731, 0.8328783582, -0.1383897511, -1.3273613135, -0.0058527025, -0.4845579112,
         0.8573589897, -0.0408712394, -0.1275656451, -0.9752920598],
    ],
}
# fmt: on


@pytest.mark.parametrize(("name", "mode"), NUMBERS)
def test_the_layer_of_the_program(name, mode):
    seen = run(filled(CASES[name][0](), ORDERS.get(name)), name, mode)
    for ours, theirs in zip(seen, NUMBERS[name, mode], strict=True):
        torch.testing.assert_close(ours, torch.tensor(theirs, dtype=torch.float64), rtol=0, atol=2e-10)
