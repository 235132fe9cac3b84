"""What a net must know of each dataset before the dataset is there: its features and what is predicted (Tables 1 and 5).

The tables' nets can be built, and their parameters counted, without any data.
"""

from typing import NamedTuple

from data.dataset import Features
from data.store import Field


class Entry(NamedTuple):
    """One dataset: the family whose main file runs it, its features, the level of its task, the number of outputs, and of folds;
    `paper` is the folder of paper_tables/ with its results."""

    family: str
    node: Field | None
    edge: Field | None
    level: str
    n_out: int
    n_folds: int = 1
    paper: str = "benchmarking_gnns"

    def features(self, n_eigenvectors=0):
        return Features(self.node, self.edge, n_eigenvectors)


def _types(level, n_types):
    return Field(level, "feat", "int64", n_types=n_types)


def _numbers(level, dim):
    return Field(level, "feat", "float32", (dim,))


CATALOGUE = {
    "ZINC": Entry("molecules", _types("node", 28), _types("edge", 4), "graph", 1),
    "PATTERN": Entry("SBMs", _types("node", 3), None, "node", 2),
    "CLUSTER": Entry("SBMs", _types("node", 7), None, "node", 6),
    "MNIST": Entry("superpixels", _numbers("node", 3), _numbers("edge", 1), "graph", 10),
    "CIFAR10": Entry("superpixels", _numbers("node", 5), _numbers("edge", 1), "graph", 10),
    "TSP": Entry("TSP", _numbers("node", 2), _numbers("edge", 1), "edge", 2),
    "COLLAB": Entry("COLLAB", _numbers("node", 128), _numbers("edge", 2), "edge", 1),
    "CSL": Entry("CSL", None, None, "graph", 10, n_folds=5),
    "ENZYMES": Entry("TUs", _numbers("node", 18), None, "graph", 6, n_folds=10),
    "DD": Entry("TUs", _numbers("node", 89), None, "graph", 2, n_folds=10),
    "PROTEINS": Entry("TUs", _numbers("node", 29), None, "graph", 2, n_folds=10),
    "BREC": Entry("BREC", None, None, "graph", 16, paper="brec"),
}
