"""Writes docs/models.md: every model with its equations, files and number of parameters, all taken from the code.

python -m docs.make_models           writes the page
python -m docs.make_models --check   exit 1 if the page is not what the code says
"""

import argparse
import inspect
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from data.dataset import Features
from data.store import Field
from nets import NETS, build_net, count_parameters
from runs.table_files import table_files

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path(__file__).with_name("models.md")
MODELS = ("MLP", "GCN", "GraphSage", "GAT", "MoNet", "GatedGCN", "GIN", "RingGNN", "3WLGNN", "PPGN")
N_TYPES, N_CLASSES = 28, 10
HEADS = 8  # of GAT: hidden_dim is the width of one of them


def net_of(model, d, L=4):
    """A net of width d for graph classification with 28 node types and 10 classes."""
    keys = {"L": L, "hidden_dim": d}
    if model == "GAT":
        keys |= {"hidden_dim": d // HEADS, "n_heads": HEADS}
    features = Features(Field("node", "feat", "int64", n_types=N_TYPES), None)
    return build_net(NETS[model].Config(**keys), features, SimpleNamespace(level="graph", n_out=N_CLASSES))


def polynomial(values):
    """'5 d² + 9 d' for a function of d that is a polynomial of degree 2 at multiples of 8; checked at a fourth point."""
    points = [8, 16, 24, 40]
    seen = [values(d) for d in points]
    solution = np.linalg.solve(np.vander(np.array(points[:3], float), 3), np.array(seen[:3], float))
    exact = [Fraction(float(c)).limit_denominator(64) for c in solution]
    if any(sum(c * d ** (2 - i) for i, c in enumerate(exact)) != s for d, s in zip(points, seen, strict=True)):
        raise ValueError(f"{seen} at {points} is not a polynomial of degree 2")
    terms = [f"{c} {unit}".strip() for c, unit in zip(exact, ("d²", "d", ""), strict=True) if c]
    return " + ".join(term.removeprefix("1 ") for term in terms)


def section(model):
    net = NETS[model]
    layer = type(net_of(model, 8).layers[0])
    a_layer = polynomial(lambda d: count_parameters(net_of(model, d).layers[1]))
    whole = polynomial(lambda d: count_parameters(net_of(model, d)))
    rows = [row for table in table_files().values() for row in table.rows.values()]
    n_rows = sum(row.config.get("net", {}).get("model") == model for row in rows)
    files = [inspect.getsourcefile(layer), inspect.getsourcefile(net)]
    links = ", ".join(f"[{Path(f).relative_to(ROOT)}](../{Path(f).relative_to(ROOT)})" for f in files)
    keys = ", ".join(f"`{key}`" for key in net.Config.model_fields if key != "model")
    return "\n".join(
        [
            f"## {model}",
            "",
            "```",
            inspect.getdoc(layer),
            "```",
            "",
            f"- Files: {links}; {n_rows} rows in `configs/`",
            f"- Parameters of a layer from width d to d: {a_layer}",
            f"- Parameters of a net with L = 4: {whole}",
            f"- Keys: {keys}",
            "",
        ]
    )


def page():
    head = [
        "# The models",
        "",
        "Written by `python -m docs.make_models` from the docstrings and the nets themselves; not to be edited by hand.",
        "",
        "d is the width of a layer (for GAT all heads together, here 8 of them). The counts are those of the default variant on",
        f"graphs with {N_TYPES} node types and {N_CLASSES} classes, for widths that are multiples of 8; `python -m",
        "tools.check_params` counts every row of the paper's tables.",
        "",
    ]
    return "\n".join([*head, *(section(model) for model in MODELS)])


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m docs.make_models", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare only")
    if parser.parse_args(argv).check:
        return int(not PAGE.exists() or PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
