"""Pictures of single graphs on matplotlib axes. A dataset class chooses one of these functions as its `draw`."""

import networkx as nx
import numpy as np


def draw_graph(dataset, axes, i):
    """Graph i on matplotlib axes, laid out by springs; nodes are coloured by their largest or only feature."""
    src, dst = dataset.store.edges(i)
    g = nx.Graph()
    g.add_nodes_from(range(len(dataset.store.rows("node.in_degree", i))))
    g.add_edges_from(zip(src.tolist(), dst.tolist(), strict=True))
    colour = dataset.store.rows("node.feat", i) if "node.feat" in dataset.store.fields else np.zeros(len(g))
    place = nx.kamada_kawai_layout(g) if len(g) < 60 else nx.spring_layout(g, seed=0)
    colour = colour.argmax(1) if colour.ndim > 1 else colour
    nx.draw_networkx(g, place, ax=axes, node_size=25, node_color=colour, with_labels=False, cmap="tab20")


def draw_tour(dataset, axes, i):
    """The cities in blue and the tour in red, as in Figure 2."""
    points, (src, dst) = dataset.store.rows("node.feat", i), dataset.store.edges(i)
    on_tour = dataset.store.rows("edge.label", i) == 1
    for ends in zip(points[src[on_tour]], points[dst[on_tour]], strict=True):
        axes.plot(*np.transpose(ends), color="red", linewidth=1, zorder=1)
    axes.scatter(*points.T, color="blue", s=8, zorder=2)
    axes.set_aspect("equal")


def draw_neighbourhood(dataset, axes, i):
    """Scientist i, those who published with i and their papers together; the whole graph is too large for a picture."""
    src, dst = dataset.store.edges(0)
    near = np.append(np.setdiff1d(src[dst == i], [i])[:59], i)
    inside = np.isin(src, near) & np.isin(dst, near) & (src < dst)
    graph = nx.Graph()
    graph.add_nodes_from(near.tolist())
    graph.add_edges_from(zip(src[inside].tolist(), dst[inside].tolist(), strict=True))
    place = nx.spring_layout(graph, seed=0)
    for a, b in graph.edges:
        axes.plot(*zip(place[a], place[b], strict=True), color="0.6", linewidth=1, zorder=1)
    axes.scatter(*zip(*place.values(), strict=True), c=["tab:red" if n == i else "tab:blue" for n in place], zorder=2)
