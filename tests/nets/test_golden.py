"""The nets of 34 table rows, made small, against numbers of the program that made the tables: with the same weights and graphs the
same outputs and gradients, in evaluation and in training. The files lie beside the project (../shared); without them this is
skipped, and tests/layers/test_program.py has some numbers of its own.
"""

import json
import re
from pathlib import Path

import dgl
import numpy as np
import pytest
import torch

from data.registry import declared
from nets import NETS, build_net

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "facts" / "golden_benchmarking_gnns"
FILES = sorted(FOLDER.glob("*.npz"))
# Keys and values as they were called when the files were made
NAMES = {
    "sage_aggregator": "aggregator", "neighbor_aggr_GIN": "aggregator", "n_mlp_GIN": "n_mlp", "learn_eps_GIN": "learn_eps",
    "pseudo_dim_MoNet": "pseudo_dim", "kernel": "n_kernels",
}  # fmt: skip
LAYERS = {
    "dgl": "attention",
    "edgefeat": "edge_features",
    "edgereprfeat": "edge_representations",
    "isotropic": "isotropic",
}
SIGNS = {"eigvecs": "kept", "rand_sign": "flip", "abs": "abs"}
GONE = ("l2_norm", "out_dim", "pos_enc", "pos_enc_dim", "readout")


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def golden(request):
    with np.load(request.param, allow_pickle=False) as file:
        return {key: torch.from_numpy(x) if (x := file[key]).dtype.kind in "fiu" else str(x) for key in file.files}


def section(golden, prefix):
    """What the file has under a prefix: {"layers.0.U.weight": ...}."""
    return {key.removeprefix(prefix): value for key, value in golden.items() if key.startswith(prefix)}


def today(old):
    """A configuration of then in the keys of today."""
    keys = {NAMES.get(key, key): value for key, value in old.items() if key not in GONE}
    if "layer_type" in keys:
        keys["layer_type"] = LAYERS[keys["layer_type"]]
    if "readout" in old:
        keys["head"] = {"pool": old["readout"]}
    if old.get("pos_enc", "none") != "none":
        keys["encodings"] = [{"kind": "LapPE", "k": old["pos_enc_dim"], "signs": SIGNS[old["pos_enc"]]}]
    return keys


def renamed(parameters):
    """Parameters of then under the names of today."""
    return {_renamed(name): value for name, value in parameters.items()}


def _renamed(name):
    name = name.replace("embedding.pos_enc.", "embedding.encodings.0.").replace(".norm_e.", ".update_e.norm.")
    return re.sub(r"^(layers\.\d+)\.(norm_h|norm)\.", r"\1.update_h.norm.", name)


def build(golden):
    """The net of the file with the weights of the file."""
    entry, keys = declared(golden["dataset"]), today(json.loads(golden["config"]))
    config = NETS[keys["model"]].Config.model_validate(keys)
    task = entry.target
    net = build_net(config, entry.features, task).double()
    missing, unexpected = net.load_state_dict(renamed(section(golden, "weight.")), strict=False)
    assert not unexpected and all(key.endswith("num_batches_tracked") for key in missing)
    return net


def graph_of(golden):
    g = dgl.graph((golden["src"], golden["dst"]), num_nodes=int(golden["nodes"].sum()))
    g.set_batch_num_nodes(golden["nodes"])
    g.set_batch_num_edges(golden["edges"])
    g.ndata.update({name.replace("pos_enc", "laplacian"): x for name, x in section(golden, "node.").items()})
    g.edata.update(section(golden, "edge."))
    return g


def scores_and_gradients(net, golden, mode):
    net.train(mode == "train")
    net.zero_grad()
    pairs = [tuple(golden["pairs"])] if golden["dataset"] == "COLLAB" else []
    y = net(graph_of(golden), *pairs)
    (y * golden["w"]).sum().backward()
    gradients = {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in net.named_parameters()}
    return y.detach(), gradients


def close(seen, expected, largest):
    torch.testing.assert_close(seen, expected, rtol=0, atol=1e-9 * max(1.0, float(largest)))


@pytest.mark.skipif(not FILES, reason=f"no files in {FOLDER}")
def test_every_file_is_there():
    assert len(FILES) == 34


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_the_net_of_the_program(golden, mode):
    y, gradients = scores_and_gradients(build(golden), golden, mode)
    close(y, golden[f"{mode}.y"], golden[f"{mode}.y"].abs().max())
    expected = renamed(section(golden, f"{mode}.grad."))
    largest = max(x.abs().max() for x in expected.values())
    for name, gradient in expected.items():
        close(gradients[name], gradient, largest)
    without = {name for name in gradients if name not in expected}
    assert all(name.endswith("diagonal_bias") for name in without), (
        without
    )  # RingGNN: the program does not read all of it


@pytest.mark.parametrize("golden", [p for p in FILES if "RingGNN" in p.stem], ids=lambda p: p.stem, indirect=True)
def test_the_bias_that_the_program_never_reads_changes_nothing(golden):
    """The files have 0 there."""
    net = build(golden)
    y, before = scores_and_gradients(net, golden, "eval")
    for layer in net.layers:
        bias = layer.L.diagonal_bias
        (unread,) = (m for m in range(len(bias)) if not bias[m].any())
        torch.nn.init.ones_(bias.data[unread])
    y_filled, after = scores_and_gradients(net, golden, "eval")
    assert torch.equal(y, y_filled)
    assert all(torch.equal(before[name], after[name]) for name in before)
