"""Pictures of single graphs on matplotlib axes. A dataset class chooses one of these functions as its `draw`."""

import networkx as nx
import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path


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


def draw_molecule(dataset, axes, i):
    """Atoms (coloured by type) and bonds, laid out by springs."""
    src, dst = dataset.store.edges(i)
    g = nx.Graph(zip(src.tolist(), dst.tolist(), strict=True))
    place = nx.kamada_kawai_layout(g)
    bonds = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), dataset.store.rows("edge.feat", i), strict=True))
    atoms = dataset.store.rows("node.feat", i)
    nx.draw_networkx_edges(g, place, ax=axes, width=[1.5 * bonds[edge] for edge in g.edges])
    colours = {"node_color": [atoms[v] for v in g], "cmap": "tab20", "vmin": 0, "vmax": 19}
    nx.draw_networkx_nodes(g, place, ax=axes, node_size=60, **colours)


def draw_large_molecule(dataset, axes, i):
    """Atoms (coloured by element) and bonds of a molecule of some hundred atoms, laid out by the lengths of its paths."""
    (src, dst), atoms = dataset.store.edges(i), dataset.store.rows("node.feat", i)[:, 0]
    place = path_layout(len(atoms), src, dst)
    axes.plot(*place[np.stack([src, dst])].transpose(2, 0, 1), color="0.6", linewidth=0.8, zorder=1)
    axes.scatter(*place.T, c=[ELEMENTS.get(int(a), "tab:purple") for a in atoms], s=10, linewidths=0, zorder=2)
    axes.set_aspect("equal")


def draw_contacts(dataset, axes, i):
    """A molecule, and dashed in red the pairs of atoms that are near in space."""
    draw_large_molecule(dataset, axes, i)
    src, dst = dataset.store.edges(i)
    place = path_layout(len(dataset.store.rows("node.in_degree", i)), src, dst)
    pairs = dataset.store.rows("pair.of", i)
    axes.plot(*place[pairs.T].transpose(2, 0, 1), color="tab:red", linestyle="--", linewidth=0.7, zorder=0)


ELEMENTS = {0: "lightgrey", 5: "black", 6: "tab:blue", 7: "tab:red", 15: "gold"}  # H, C, N, O, S; by atomic number - 1


def path_layout(n_nodes, src, dst):
    """(n, 2) places whose distances come near to the lengths of the shortest paths: majorisation from a spectral start."""
    adjacency = csr_matrix((np.ones(len(src)), (src, dst)), shape=(n_nodes, n_nodes))
    length = shortest_path(adjacency, directed=False, unweighted=True)
    length[~np.isfinite(length)] = length[np.isfinite(length)].max() + 1
    weight = 1 / np.maximum(length, 1) ** 2
    np.fill_diagonal(weight, 0)
    centred = -0.5 * length**2
    centred -= centred.mean(0) + centred.mean(1, keepdims=True) - centred.mean()
    values, vectors = np.linalg.eigh(centred)
    place = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0))
    place += np.random.default_rng(0).normal(0, 0.1, place.shape)  # leaves of one atom start at one point
    inverse = np.linalg.pinv(np.diag(weight.sum(1)) - weight)
    for _ in range(100):
        distance = np.sqrt(((place[:, None] - place[None]) ** 2).sum(-1))
        ratio = weight * length / np.maximum(distance, 1e-6)
        place = inverse @ ((ratio.sum(1, keepdims=True)) * place - ratio @ place)
    return place


def draw_communities(dataset, axes, i):
    """The adjacency matrix with its nodes sorted by community; edges within one have its colour, the others are grey."""
    parts = dataset.store.split("split")
    part = next(part for part, graphs in parts.items() if i in graphs)
    community = dataset.make_graph(part, i - int(parts[part][0]))[2]  # not stored: nobody may learn from it
    src, dst = dataset.store.edges(i)
    place = np.argsort(np.argsort(community, kind="stable"))
    inside = community[src] == community[dst]
    axes.scatter(place[src[~inside]], place[dst[~inside]], s=0.6, c="lightgrey")
    axes.scatter(place[src[inside]], place[dst[inside]], s=0.8, c=community[src[inside]], cmap="tab10", vmin=0, vmax=9)
    axes.set_aspect("equal")
    axes.invert_yaxis()


def draw_superpixels(dataset, axes, i):
    """Graph i on matplotlib axes, upright as the image: superpixels in their colours, edges in grey."""
    feat = dataset.store.rows("node.feat", i)
    src, dst = dataset.store.edges(i)
    row, column, colour = feat[:, -2], feat[:, -1], np.clip(feat[:, :-2], 0, 1)
    axes.plot(column[[src, dst]], row[[src, dst]], color="0.7", linewidth=0.3, zorder=1)
    colour = colour if dataset.n_channels == 3 else np.repeat(colour, 3, axis=1)
    axes.scatter(column, row, c=colour, edgecolors="0.5", linewidths=0.3, zorder=2)
    axes.set(xlim=(0, 1), ylim=(1, 0), aspect="equal")


def draw_over_image(dataset, axes, i):
    """The graph over its image."""
    if dataset.images is None:
        dataset.images = dataset.read()[0]
    axes.imshow(dataset.images[dataset.chosen()[i]], cmap="gray", extent=(0, 1, 1, 0), alpha=0.6)
    draw_superpixels(dataset, axes, i)


def draw_labelled_regions(dataset, axes, i):
    """Superpixels over their photograph, if it is at hand: boundaries, the graph, and centres in the colours of classes."""
    feat, label = dataset.store.rows("node.feat", i).astype(float), dataset.store.rows("node.label", i)
    row, column, (src, dst) = feat[:, -2], feat[:, -1], dataset.store.edges(i)
    if hasattr(dataset, "image"):
        axes.imshow(with_boundaries(dataset.image(i), dataset.compactness), alpha=0.7)
    else:
        axes.scatter(column, row, c=np.clip(feat[:, :3], 0, 1), s=90, linewidths=0, zorder=0)
        axes.invert_yaxis()
    axes.plot(column[[src, dst]], row[[src, dst]], color="white", linewidth=0.3, zorder=1)
    classes, kind = np.unique(label[label > 0], return_inverse=True)
    axes.scatter(column[label == 0], row[label == 0], c="black", s=2, linewidths=0, zorder=2)
    axes.scatter(column[label > 0], row[label > 0], c=kind, cmap="tab10", vmin=0, vmax=9, s=12, linewidths=0, zorder=3)
    axes.text(0, -0.04, "classes " + ", ".join(map(str, classes)), transform=axes.transAxes, fontsize=7)
    axes.set_aspect("equal")


def with_boundaries(image, compactness):
    """The photograph with lines between its superpixels."""
    from skimage.segmentation import mark_boundaries

    from data.LRGB_images import image_regions

    return mark_boundaries(image / 255, image_regions(image, compactness), color=(1, 1, 0))
