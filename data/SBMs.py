"""PATTERN and CLUSTER (A.1): nodes of random graphs with communities, drawn from the stochastic block model.

Two nodes of one community are joined with probability p, of different communities with probability q. In PATTERN one of 100 fixed
random graphs of 5 to 34 nodes is hidden among five communities, and its nodes are to be found. In CLUSTER the community of every
node is to be found, with one known node in each of six communities. Nodes are in random order, edges go both ways. Table 5's row
of PATTERN is of an earlier version.
"""

import numpy as np

from data.dataset import Declared, GraphDataset, Target, categories
from data.download import find, reading
from data.draw import draw_communities
from data.errors import DataError, StoreError
from data.readers.published import published_file, published_parts
from data.splits import PARTS, consecutive
from data.store import Field, PackedWriter


def random_graph(probability, random):
    """Edges of a graph in which i and j are joined with probability[i, j], (n, n) symmetric: (src, dst), both directions."""
    i, j = np.nonzero(np.triu(random.random_sample(probability.shape) < probability, k=1))
    return np.concatenate([i, j]), np.concatenate([j, i])


def block_probability(community, p, q):
    """p where two nodes are of the same community, q where they are not: (n, n)."""
    return np.where(community[:, None] == community[None, :], p, q)


def community_sizes(parameters, random):
    """Deviation: the text says [5, 35], averages of CLUSTER in Tables 1 and 5 (117.20 nodes) need 5 to 34, as in the program."""
    low, high = parameters["community_size"]
    return random.randint(low, high, parameters["n_communities"])


def classes(n):
    """One of n classes per node; loss and accuracy weigh the classes by their sizes, B.1.3."""
    return Target("classes", "node", n, ("WeightedAccuracy",), weighted=True)


def sbm_fields(dataset):
    return [
        Field("node", "feat", "uint8", n_types=dataset.n_node_types),
        Field("node", "label", "uint8", n_types=dataset.target.n_out),
    ]


class SBMDataset(GraphDataset):
    """What both have in common: one random stream for each graph, so that any part of the dataset can be made by itself."""

    generated = True
    licence = "generated here; none"
    draw = draw_communities
    moments: dict  # expected nodes and directed edges of a graph, and their standard deviations

    def build(self, path):
        p = self.parameters
        sizes = {part: min(n, p.get("limit", n)) for part, n in p["n_graphs"].items()}
        generator = {"version": self.version, **p}
        with PackedWriter(path, self.name, sbm_fields(self), generator, total=sum(sizes.values())) as writer:
            for part in PARTS:
                for i in range(sizes[part]):
                    feat, label, _, (src, dst) = self.make_graph(part, i)
                    writer.add(len(label), src, dst, node={"feat": feat, "label": label})
            writer.add_split("split", **consecutive(sizes))

    def make_graph(self, part, i):
        """(features, labels, communities, edges) of graph i of a part."""
        return self.draw_graph(i, np.random.RandomState([self.parameters["seed"], PARTS.index(part), i]))

    def check(self, store):
        """The averages are those of the generator, within 6 standard deviations of the mean."""
        for what, total in (("nodes", store.n_nodes), ("edges", store.n_edges)):
            mean, deviation = self.moments[what]
            if abs(total / len(store) - mean) > 6 * deviation / np.sqrt(len(store)):
                seen = f"{total / len(store):.2f} {what} a graph, expected {mean:.2f}"
                raise StoreError(f"{store.path}: {seen}: delete the folder, it is built again")


class PATTERN(SBMDataset):
    """Graph i of a part hides pattern i modulo 100, so each pattern serves 100 training, 20 validation and 20 test graphs.

    Deviation: A.1 says 20 nodes for every pattern; Table 1 (graphs of 44 to 188 nodes, 118.89 on average) needs 5 to 34.
    """

    name = "PATTERN"
    version = 2  # 1: patterns of 20 nodes
    declared = Declared(categories("node", 3), None, classes(2))
    n_node_types = 3
    moments = {"nodes": (118.8, 21.2), "edges": (6082.0, 2100.0)}  # noqa: RUF012 - read only; with the patterns of this seed
    parameters = {  # noqa: RUF012
        "n_graphs": {"train": 10000, "val": 2000, "test": 2000},
        "n_communities": 5,
        "community_size": [5, 35],
        "p": 0.5,
        "q": 0.35,
        "n_patterns": 100,
        "pattern_size": [5, 35],
        "p_pattern": 0.5,
        "q_pattern": 0.5,
        "seed": 2580,  # the first whose graphs have 44 to 188 nodes and, within 0.1 %, as many together as in Table 1
    }

    def __init__(self, *arguments, **keywords):
        random = np.random.RandomState(self.parameters["seed"])
        self.patterns = [self.draw_pattern(random) for _ in range(self.parameters["n_patterns"])]
        super().__init__(*arguments, **keywords)

    def draw_pattern(self, random):
        """(edges, features) of a pattern: they are the same wherever it is hidden."""
        size = random.randint(*self.parameters["pattern_size"])
        edges = random_graph(np.full((size, size), self.parameters["p_pattern"]), random)
        return edges, random.randint(0, self.n_node_types, size)

    def draw_graph(self, i, random):
        """(features, labels, communities, edges) of graph i; its pattern counts as a community."""
        p = self.parameters
        community = np.repeat(np.arange(p["n_communities"]), community_sizes(p, random))
        (pattern_src, pattern_dst), pattern_feat = self.patterns[i % p["n_patterns"]]
        n, size = len(community), len(pattern_feat)
        probability = np.zeros((n + size, n + size))
        probability[:n, :n] = block_probability(community, p["p"], p["q"])
        probability[:n, n:] = probability[n:, :n] = p["q_pattern"]
        src, dst = random_graph(probability, random)
        feat = np.concatenate([random.randint(0, self.n_node_types, n), pattern_feat])
        label = np.repeat([0, 1], [n, size])
        number = random.permutation(n + size)  # node k of the drawing is node number[k] of the dataset
        order = np.argsort(number)
        edges = number[np.concatenate([src, n + pattern_src])], number[np.concatenate([dst, n + pattern_dst])]
        community = np.concatenate([community, np.full(size, p["n_communities"])])
        return feat[order], label[order], community[order], edges


class CLUSTER(SBMDataset):
    name = "CLUSTER"
    version = 1
    declared = Declared(categories("node", 7), None, classes(6))
    n_node_types = 7
    moments = {"nodes": (117.0, 21.2), "edges": (4290.0, 1500.0)}  # noqa: RUF012 - read only
    parameters = {  # noqa: RUF012
        "n_graphs": {"train": 10000, "val": 1000, "test": 1000},
        "n_communities": 6,
        "community_size": [5, 35],
        "p": 0.55,
        "q": 0.25,
        "seed": 42,  # not that of PATTERN: the communities of both would have the same sizes
    }

    def draw_graph(self, i, random):
        """(features, labels, communities, edges) of graph i. Feature c + 1: a node known to be of community c; 0: not known."""
        p = self.parameters
        label = random.permutation(np.repeat(np.arange(p["n_communities"]), community_sizes(p, random)))
        edges = random_graph(block_probability(label, p["p"], p["q"]), random)
        feat = np.zeros(len(label), dtype=np.int64)
        for c in range(p["n_communities"]):
            feat[random.choice(np.flatnonzero(label == c))] = c + 1
        return feat, label, label, edges


class PublishedSBM(GraphDataset):
    """The published graphs."""

    version = 1
    licence = "MIT (published with the paper's program)"

    def build(self, path):
        file = find(self.raw_files[0], self.config)
        sizes = self.parameters["n_graphs"]
        generator = {"version": self.version, **self.parameters}
        with PackedWriter(path, self.name, sbm_fields(self), generator, total=sum(sizes.values())) as writer:
            parts = {}
            for part, n_graphs, graphs in published_parts(file, node_dim=self.n_node_types, label="node"):
                if n_graphs != sizes[part]:
                    raise DataError(f"{file}: {n_graphs} graphs in {part}, expected {sizes[part]}: get the file again")
                first = writer.n_graphs
                for graph in graphs:
                    with reading(file):
                        node = {"feat": graph["x"].argmax(1), "label": graph["y"]}
                        writer.add(len(graph["x"]), *graph["edge_index"], node=node)
                parts[part] = np.arange(first, writer.n_graphs)
            writer.add_split("split", **parts)


class PublishedPATTERN(PublishedSBM):
    name, declared, n_node_types = "PATTERN-published", PATTERN.declared, 3
    parameters = {"file": "PATTERN_v2", "n_graphs": PATTERN.parameters["n_graphs"]}  # noqa: RUF012 - read only
    raw_files = (published_file("PATTERN_v2"),)


class PublishedCLUSTER(PublishedSBM):
    name, declared, n_node_types = "CLUSTER-published", CLUSTER.declared, 7
    parameters = {"file": "CLUSTER_v2", "n_graphs": CLUSTER.parameters["n_graphs"]}  # noqa: RUF012 - read only
    raw_files = (published_file("CLUSTER_v2"),)
