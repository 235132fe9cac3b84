"""The rooms have walls: who may import whom, read from the source, lazy imports inside functions included."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {  # room -> the rooms it may import; one that does not exist yet imports nothing
    "data": {"process"},
    "exact": {"data"},
    "layers": {"process"},
    "nets": {"process", "layers", "data"},
    "runs": {"data"},
    "train": {"process", "layers", "nets", "data", "exact", "runs"},
    "tables": {"runs", "data"},
    "launch": {"runs", "tables", "data", "train"},
}
WITHOUT_TORCH = ("runs", "tables")
HEAVY = ("torch", "dgl")


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))}
MODULES |= {path.stem: path for path in sorted(ROOT.glob("*.py"))}
PROGRAMS = sorted(
    [*(ROOT / "tools").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "docs").rglob("*.py")]
)


def imports(path):
    """Full names of all that a file imports: modules, and what is taken from them, which may be modules too."""
    package = module_name(path).split(".") if path.name == "__init__.py" else module_name(path).split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*start, *([node.module] if node.module else [])])
            yield module
            yield from (f"{module}.{name.name}" for name in node.names)


def loaded(name):
    """The modules of the project that `import name` runs: it and the packages it lies in."""
    parts = name.split(".")
    return {prefix for k in range(len(parts)) if (prefix := ".".join(parts[: k + 1])) in MODULES}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_lies_before_it(room):
    others = ROOMS.keys() | {"tools", "benchmarks", "docs", "tests"}
    forbidden = others - ROOMS[room] - {room}
    files = [path for name, path in MODULES.items() if name.split(".")[0] == room]
    wrong = [f"{path}: {name}" for path in files for name in imports(path) if name.split(".")[0] in forbidden]
    assert not wrong


def test_nothing_imports_a_main_file():
    files = [*MODULES.values(), *PROGRAMS]
    wrong = [f"{path}: {name}" for path in files for name in imports(path) if name.startswith("main_")]
    assert not wrong


@pytest.mark.parametrize("room", WITHOUT_TORCH)
def test_tables_and_runs_load_neither_torch_nor_dgl(room):
    """Followed through all modules of the project that they load."""
    waiting = [(name, name) for name in MODULES if name.split(".")[0] == room]
    seen = dict(waiting)  # module -> the way to it
    wrong = []
    while waiting:
        name, way = waiting.pop()
        for other in imports(MODULES[name]):
            if other.split(".")[0] in HEAVY:
                wrong.append(f"{way} -> {other}")
            for module in loaded(other) - seen.keys():
                seen[module] = f"{way} -> {module}"
                waiting.append((module, seen[module]))
    assert not wrong


@pytest.mark.parametrize("room", [room for room, allowed in ROOMS.items() if "process" in allowed])
def test_the_process_is_set_up_before_torch_is_loaded(room):
    """process.py comes first in each package that may load torch, so no main file has to think of it."""
    assert next(imports(ROOT / room / "__init__.py")) == "process"
