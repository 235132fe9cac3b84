"""The source of what builds a store, as a hash that the store remembers: an edited `build` under an old version is noticed.

Counted are `build` and what it uses of the dataset's class and its module, directly or not: functions, classes and constants,
without comments, docstrings and layout. What it takes from other modules is not.
"""

import ast
import contextlib
import hashlib
import inspect
import json
import sys
import textwrap
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType

FILE = "builder.json"  # in the store
IN_THE_KEY = ("name", "version", "parameters")  # of the class: others are another store
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"  # another one may write the same source differently


def check_source(store, dataset):
    """Remember the source of a dataset's `build` beside its store, or say in one line that it has changed since."""
    path, source = Path(store) / FILE, source_hash(type(dataset))
    if source is None:
        return
    try:
        known = json.loads(path.read_text())
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict) or known.get("python") != PYTHON:
        with contextlib.suppress(OSError):  # of a store that cannot be written to
            path.write_text(json.dumps({"source": source, "python": PYTHON}) + "\n")
    elif known.get("source") != source:
        module = sys.modules[type(dataset).build.__module__].__file__
        say_once(
            f"warning: {module}: what builds {dataset.name} has changed since {store} was built. If the data changes with it, "
            f"raise `version` of {type(dataset).__name__}, and it is built anew; if not, delete {path}"
        )


@cache
def say_once(text):
    print(text, file=sys.stderr, flush=True)


@cache
def source_hash(dataset):
    """The hash for a dataset's class; None where no source is there."""
    parts, modules = {}, {cls.__module__ for cls in dataset.__mro__} - {"builtins", "data.dataset"}
    try:
        collect(dataset.build, dataset, modules, parts)
    except (OSError, TypeError, SyntaxError):
        return None
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def collect(thing, dataset, modules, parts):
    """Fill `parts` {name: source or value} with a function or class and with what it uses of the dataset's class and modules."""
    if thing.__qualname__ in parts:
        return
    parts[thing.__qualname__] = plain_source(thing)
    functions = [thing] if isinstance(thing, FunctionType) else [f for f in map(plain, vars(thing).values()) if f]
    for function in functions:
        for name in names_of(function.__code__):
            used = function.__globals__.get(name, inspect.getattr_static(dataset, name, None))
            found = plain(used) or used
            if isinstance(found, FunctionType | type):
                if found.__module__ in modules:
                    collect(found, dataset, modules, parts)
            elif name not in IN_THE_KEY and isinstance(used, bool | int | float | str | tuple | list | dict):
                with contextlib.suppress(TypeError, ValueError):  # of values that are not plain
                    parts[name] = json.dumps(used, sort_keys=True)


def plain(value):
    """The function behind a method, a property or a class method; None of anything else."""
    value = getattr(value, "fget", None) or getattr(value, "__func__", None) or getattr(value, "func", None) or value
    return value if isinstance(value, FunctionType) else None


def names_of(code):
    """All names that a function uses, those of the functions inside it too."""
    inner = [name for constant in code.co_consts if isinstance(constant, CodeType) for name in names_of(constant)]
    return dict.fromkeys([*code.co_names, *inner])


def plain_source(thing):
    """The source of a function or class without comments, docstrings and layout."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(thing)))
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = body[1:] or [ast.Pass()]
    return ast.unparse(tree)
