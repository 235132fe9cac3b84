"""Draws a graph as it is and under each perturbation: Figure 2 of the Taxonomy of Benchmarks, of any dataset.

    python -m tools.perturbations --save figure2.png                      the first graph of ENZYMES, as in the paper
    python -m tools.perturbations TU/MUTAG --graph 3 --save mutag.svg

The colour of a node is its feature, of several their first principal component; in the last four panels its fragment.
"""

import argparse
import sys
from pathlib import Path

import networkx as nx
import numpy as np
from matplotlib.figure import Figure
from pydantic import TypeAdapter

from data.dataset import DataConfig
from data.errors import DataError, StoreError
from data.registry import open_dataset
from data.transforms.perturb import AnyPerturbation, FiedlerFrag, Frag, FullyConn, Graph, as_numbers
from runs.table_files import find_table

SIZE = (16, 11)
MOST_NODES = 500  # a drawing of more shows nothing, and cliques take minutes


def perturbations():
    """Those of Figure 4, in its order."""
    rows = find_table("taxonomy_figure4").rows
    first = next(iter(rows))
    kinds = [row.config["data"]["transforms"] for name, row in rows.items() if name.startswith(f"{first}+")]
    return [one for several in TypeAdapter(list[list[AnyPerturbation]]).validate_python(kinds) for one in several]


def graph_of(dataset, i):
    store = dataset.store
    field = store.fields.get("node.feat")
    n = len(store.rows("node.in_degree", i))
    x = np.ones((n, 1)) if field is None else as_numbers(field, store.rows("node.feat", i))
    return Graph(n, *store.edges(i), x)


def panels(store, graph, i=0):
    """[(title, graph, values of its nodes)]: as it is, then perturbed."""
    centred = graph.x - graph.x.mean(axis=0)
    direction = np.linalg.svd(centred, full_matrices=False)[2][0]
    found = [("as it is", graph, graph.x @ direction)]
    for perturbation in perturbations():
        new = perturbation.apply(graph, perturbation.generator(0, i), perturbation.survey(store))
        if isinstance(perturbation, FullyConn):
            src, dst = np.nonzero(~np.eye(graph.n, dtype=bool))
            new = graph._replace(src=src, dst=dst)
        if isinstance(perturbation, Frag | FiedlerFrag):
            values = fragment_numbers(new)
        else:
            values = new.x @ direction if new.x.shape == graph.x.shape else new.x.reshape(graph.n, -1)[:, 0]
        found.append((perturbation.label, new, values))
    return found


def fragment_numbers(graph):
    """The number of the component of each node."""
    numbers = np.empty(graph.n)
    for k, nodes in enumerate(nx.connected_components(as_networkx(graph))):
        numbers[list(nodes)] = k
    return numbers


def as_networkx(graph):
    g = nx.Graph()
    g.add_nodes_from(range(graph.n))
    g.add_edges_from(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
    return g


def draw(figure, found, title):
    place = nx.kamada_kawai_layout(as_networkx(found[0][1]))
    for axes, (name, graph, values) in zip(figure.subplots(3, 4).flat, found, strict=True):
        g = as_networkx(graph)
        many = g.number_of_edges() > 4 * graph.n
        nx.draw_networkx_edges(g, place, ax=axes, width=0.3 if many else 1, alpha=0.3 if many else 1)
        kinds = len(np.unique(values.round(9))) if "Frag" in name else None
        nx.draw_networkx_nodes(
            g, place, ax=axes, node_size=60, node_color=values, cmap="nipy_spectral" if kinds else "viridis"
        )
        parts = f", {kinds} fragments" if kinds else ""
        axes.set_title(f"{name}: {g.number_of_edges()} edges{parts}", fontsize=10)
        axes.set_axis_off()
    figure.suptitle(title)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tools.perturbations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", nargs="?", default="TU/ENZYMES", help="a dataset (TU/ENZYMES)")
    parser.add_argument("--graph", type=int, default=0, metavar="N", help="its number (0)")
    parser.add_argument("--save", type=Path, required=True, metavar="FILE", help="FILE.png or FILE.svg")
    arguments = parser.parse_args(argv)
    if arguments.save.suffix not in (".png", ".svg"):
        parser.error(f"--save {arguments.save}: expected a file ending in .png or .svg")
    try:
        dataset = open_dataset(arguments.name, DataConfig(**data_keys(arguments.name)))
        if not 0 <= arguments.graph < len(dataset.store):
            parser.error(f"--graph {arguments.graph}: {arguments.name} has graphs 0 to {len(dataset.store) - 1}")
        graph = graph_of(dataset, arguments.graph)
        if not 1 < graph.n <= MOST_NODES:
            parser.error(f"--graph {arguments.graph}: it has {graph.n} nodes; 2 to {MOST_NODES} can be drawn")
        found = panels(dataset.store, graph, arguments.graph)
        figure = Figure(figsize=SIZE, layout="constrained")
        draw(figure, found, f"{arguments.name}, graph {arguments.graph}")
        figure.savefig(arguments.save, dpi=120)
    except (DataError, StoreError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"drawn: {arguments.save}")
    return 0


def data_keys(name):
    """The features that the Taxonomy's row of a dataset asks for, if it has one."""
    rows = find_table("taxonomy_figure4").rows.values()
    row = next((row for row in rows if row.config["dataset"] == name), None)
    found = row.config.get("data", {}) if row else {}
    return {"features": found["features"]} if "features" in found else {}


if __name__ == "__main__":
    sys.exit(main())
