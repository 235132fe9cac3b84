"""Degrees in place of node features: the number of edges that enter a node."""

from functools import partial

from data.store import Field
from data.store.replaced import replaced

CHOICES = ("degree", "degree-onehot")
VERSION = 1


def with_degrees(store, choice, workers=1):
    """The store with the degree of a node as its feature, in place of those it may have: a number, or a type from 0 to the largest
    degree of the dataset, which nets see one-hot."""

    def plan():
        if choice == "degree":
            return [Field("node", "feat", "float32", (1,))], partial(_degrees, store, (1,))
        largest = int(store.column("node.in_degree").max(initial=0))
        return [Field("node", "feat", "int32", n_types=largest + 1)], partial(_degrees, store, ())

    return replaced(store, choice, parameters={"kind": choice, "version": VERSION}, plan=plan, workers=workers)


def _degrees(store, shape, i):
    return None, None, {"node.feat": store.rows("node.in_degree", i).reshape(-1, *shape)}
