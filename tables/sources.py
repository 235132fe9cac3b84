"""The models as their source says: the file of each net, the layers it uses and their docstrings, read without running anything."""

import ast
from functools import cache
from typing import NamedTuple

from runs.table_files import ROOT


class Part(NamedTuple):
    """A layer that a net uses."""

    name: str
    path: str  # from the project's folder
    equation: str  # its docstring


class Model(NamedTuple):
    """A model: its net and the parts of layers/ that the net uses."""

    name: str
    path: str
    summary: str  # what it is, in a sentence or two
    description: str  # the docstring of its class, which may be empty
    layers: tuple


@cache
def tree_of(path):
    return ast.parse((ROOT / path).read_text())


def imported(path, package):
    """{name: the file it is taken from} of a package's names that a file imports."""
    return {
        name.name: node.module.replace(".", "/") + ".py"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}.")
        for name in node.names
    }


def class_of(path, name):
    """The class statement, or None: what is imported may be a function."""
    return next((node for node in tree_of(path).body if isinstance(node, ast.ClassDef) and node.name == name), None)


def used_by(path, name):
    """The names that a class uses, itself or by what it uses of its own file, in the order of their places there."""
    defined = {}
    for node in tree_of(path).body:
        targets = node.targets if isinstance(node, ast.Assign) else [node]
        defined |= {getattr(target, "id", getattr(target, "name", None)): node for target in targets}
    found, todo = {name: (0, 0)}, [name]
    while todo:
        for node in ast.walk(defined[todo.pop()]):
            if isinstance(node, ast.Name) and node.id not in found:
                found[node.id] = (node.lineno, node.col_offset)
                todo += [node.id] * (node.id in defined)
    return sorted(found, key=found.get)


PLAIN = ("layers/linear.py", "layers/chain.py")  # nn.Linear and nn.Sequential by faster products: no part to explain


def layers_of(path, name):
    """The parts of layers/ that a net uses and that have a docstring: its layers first, then what helps them."""
    files, found = {part: file for part, file in imported(path, "layers").items() if file not in PLAIN}, []
    for part in used_by(path, name):
        statement = class_of(files[part], part) if part in files else None
        if statement is not None and (text := ast.get_docstring(statement)):
            found.append(Part(part, files[part], text))
    return tuple(sorted(found, key=lambda part: not part.name.endswith("Layer")))


def docstring_of(path, name):
    """That of a class, or of the class of the same file that it is made from."""
    statement = class_of(path, name)
    if statement is None:
        return ""
    bases = [base.id for base in statement.bases if isinstance(base, ast.Name)]
    return ast.get_docstring(statement) or "".join(docstring_of(path, base) for base in bases)


@cache
def models():
    """{name: Model} of nets/__init__.py, in its order."""
    files = imported("nets/__init__.py", "nets")
    table = next(
        node.value
        for node in tree_of("nets/__init__.py").body
        if isinstance(node, ast.Assign) and node.targets[0].id == "NETS"
    )
    found = {}
    for key, value in zip(table.keys, table.values, strict=True):
        path = files[value.id]
        own = docstring_of(path, value.id)
        alone = list(files.values()).count(path) == 1  # a file of several nets says at each class what it is
        summary = ast.get_docstring(tree_of(path)) if alone else own.split("\n\n")[0]
        found[key.value] = Model(key.value, path, summary, own, layers_of(path, value.id))
    return found
