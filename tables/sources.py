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
    """A model: its net and the layers that the net's file takes from layers/."""

    name: str
    path: str
    description: str
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


def layers_of(path):
    """The layers that a net's file imports and that have a docstring."""
    found = []
    for name, file in imported(path, "layers").items():
        statement = class_of(file, name)
        if statement is not None and (text := ast.get_docstring(statement)):
            found.append(Part(name, file, text))
    return tuple(found)


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
        description = ast.get_docstring(class_of(path, value.id)) or ast.get_docstring(tree_of(path)) or ""
        found[key.value] = Model(key.value, path, description, layers_of(path))
    return found
