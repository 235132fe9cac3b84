"""Other node features for any store, `--data.features`: degrees in place of those it has, or its categories as numbers.

degree           the number of edges that enter a node
degree-onehot    the same as a type from 0 to the largest degree of the dataset, which nets see one-hot
onehot           the dataset's categories as numbers 0 and 1: a block for each column, one number for each value
"""

from functools import partial

from data.errors import DataError
from data.store import Field
from data.store.replaced import replaced
from data.transforms.perturb import as_numbers, width_of

CHOICES = ("degree", "degree-onehot", "onehot")
VERSION = 1


def with_features(store, choice, workers=1):
    """The store with these node features in place of its own."""
    field = store.fields.get("node.feat")
    if choice == "onehot" and (field is None or field.n_types is None):
        raise DataError(
            f"data.features='onehot': the nodes of {store.name} have no categories: choose degree, or leave it out"
        )
    parameters = {"kind": choice, "version": VERSION}
    return replaced(store, choice, parameters=parameters, plan=partial(_plan, store, choice), workers=workers)


def _plan(store, choice):
    """(fields, compute), as `replaced` wants them."""
    if choice == "onehot":
        return [Field("node", "feat", "float32", (width_of(store.fields["node.feat"]),))], partial(_one_hot, store)
    if choice == "degree":
        return [Field("node", "feat", "float32", (1,))], partial(_degrees, store, (1,))
    largest = int(store.column("node.in_degree").max(initial=0))
    return [Field("node", "feat", "int32", n_types=largest + 1)], partial(_degrees, store, ())


def _degrees(store, shape, i):
    return None, None, {"node.feat": store.rows("node.in_degree", i).reshape(-1, *shape)}


def _one_hot(store, i):
    return None, None, {"node.feat": as_numbers(store.fields["node.feat"], store.rows("node.feat", i))}
