"""The table files of configs/: one JSON file per table of a paper, with one line per row.

    {"paper": "benchmarking_gnns", "main": "molecules", "seeds": [41, 95, 12, 35],
     "shared": {"dataset": "ZINC", "net": {...}, "train": {...}},          keys that all rows have
     "quick": {"data.limit": 8, "train.stop.epochs": 2},                   what QUICK=1 changes (these, when not given)
     "rows": {"GCN-L4": {"net": {"model": "GCN", "L": 4}}, ...}}            what differs, row by row

`main` is the main file that runs the rows, `folds` how many folds one seed has (1), `grid` lists of values that a model selection
tries: a key of every row's configuration. A row may have seeds and folds of its own. A file of your own works the same way.
`variants`: {"NoEdges": {"data": {...}}, ...} adds to every row ROW the rows ROW+NoEdges, ... with these keys.

A file can also be made of others beside it:

    {"like": "fair_GIN", "changes": {"train.stop.epochs": 100}, "grid": {"train.batch_size": [128]}}
        the rows of fair_GIN with other keys, and in their grids other lists: configurations, and results, of their own
    {"rows_of": {"GIN": "fair_GIN", "ECC": "fair_ECC"}, "only": ["DD", "NCI1"]}
        a table over several files: its rows DD-GIN, DD-ECC, ... are those of the files, and so are their results
"""

import fnmatch
import json
from copy import copy
from functools import cache
from itertools import product
from pathlib import Path

from runs.errors import ConfigError, by_distance, nearest
from runs.identity import canonical, hash_of, identity, kind_of

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "configs"
KEYS = {
    "paper": str,
    "main": str,
    "seeds": list,
    "folds": int,
    "shared": dict,
    "quick": dict,
    "rows": dict,
    "variants": dict,
    "grid": dict,
}
REQUIRED = ("main", "seeds", "rows")
MANY = 20  # rows; of more an error does not list all
QUICK = {"data.limit": 8, "train.stop.epochs": 2}
ROW_KEYS = {"seeds": list, "folds": int, "printed": str, "note": str}  # of a row, beside the keys of its configuration


LIKE_KEYS = {"like": str, "changes": dict, "grid": dict}
ROWS_OF_KEYS = {"paper": str, "rows_of": dict, "only": list}


class Row:
    """One row of a table file: its configuration (nested dictionaries), its seeds and the id of the paper's line it stands for."""

    def __init__(self, table, name, content):
        self.table, self.name, self.ids = table, name, {}
        self.key = name  # in the file that lists it, which may be another than its own
        self.seeds, self.folds = content.get("seeds", table.seeds), content.get("folds", table.folds)
        self.printed = content.get("printed", name)
        self.note = content.get("note")
        own = {key: value for key, value in content.items() if key not in ROW_KEYS}
        self.config = merged(table.shared, own)
        if table.grid:  # a grid of a row takes the place of the table's; its keys have the first value of their list
            grid = own.get("grid", table.grid)
            self.config = with_changes(self.config, expand(grid)[0]) | {"grid": grid}

    def __str__(self):
        return f"{self.table.name}/{self.name}"

    def changed(self, changes):
        """The configuration with changed keys, as {"data.limit": 8}. Another grid takes the place of the row's, and its keys have
        the first value of their list."""
        changes = dict(changes)
        grid = changes.pop("grid", None)
        config = with_changes(self.config, changes)
        return with_changes(config, expand(grid)[0]) | {"grid": grid} if grid else config

    def id(self, changes=()):
        """The identity's hash, by which results are found; with changes that of the changed configuration."""
        key = canonical(dict(changes))
        if key not in self.ids:  # tables ask for it again and again
            self.ids[key] = hash_of(identity(self.changed(changes)))
        return self.ids[key]

    def quick_changes(self):
        """What QUICK=1 changes: of the keys that the table file lists those whose section the row has, and those of the data; of a
        model selection its own too."""
        sections = {*self.config, "data"} | ({"selection"} if "grid" in self.config else set())
        changes = {key: value for key, value in self.table.quick.items() if key.split(".")[0] in sections}
        if "grid" in changes:  # other lists for some of its keys
            changes["grid"] = merged(self.config["grid"], changes["grid"])
        return changes


class TableFile:
    """One file: `name` is its stem, and `rows` are its rows by name, in the order of the file."""

    def __init__(self, path):
        self.path, self.name = path, path.stem
        content = read_content(path)
        if "rows_of" in content:
            self._take_rows(content)
            return
        check_keys(path, content, KEYS, REQUIRED)
        self.paper, self.main = content.get("paper"), content["main"]
        self.seeds, self.folds = content["seeds"], content.get("folds", 1)
        self.shared, self.quick = content.get("shared", {}), content.get("quick", QUICK)
        self.grid = content.get("grid", {})
        expand(self.grid)  # names what is wrong with it
        for kind, part in (("row", content["rows"]), ("variant", content.get("variants", {}))):
            for name, row in part.items():
                if not isinstance(row, dict):
                    raise ConfigError(f"{path}: {kind} {name}: expected an object, found {type(row).__name__}")
                check_keys(f"{path}: {kind} {name}", {k: v for k, v in row.items() if k in ROW_KEYS}, ROW_KEYS)
        self.rows = {name: Row(self, name, row) for name, row in with_variants(content)}
        check_seeds(path, self.seeds)
        for row in self.rows.values():
            check_row(path, row)

    def _take_rows(self, content):
        """A table over several files: row by row, and in each the files in their order."""
        check_keys(self.path, content, ROWS_OF_KEYS, ROWS_OF_KEYS)
        files = {label: TableFile(beside(self.path, name)) for label, name in content["rows_of"].items()}
        self.rows = {}
        for name, (label, file) in product(content["only"], files.items()):
            row = copy(file.row(name))
            row.key = row.printed = f"{name}-{label}"
            self.rows[row.key] = row
        first, *others = files.values()
        self.paper, self.shared, self.quick, self.grid = content["paper"], {}, first.quick, first.grid
        for key in ("main", "seeds", "folds"):
            setattr(self, key, getattr(first, key))
            if any(getattr(file, key) != getattr(first, key) for file in others):
                raise ConfigError(f"{self.path}: rows_of: the files differ in {key}: a table has one")

    @property
    def made_of_others(self):
        """Whether its rows are those of other files, which have their results too."""
        return any(row.table is not self for row in self.rows.values())

    def row(self, name):
        if name not in self.rows:
            raise ConfigError(f"{name}: {self.path} has no such row.{nearest(name, self.rows)} {self._rows_like(name)}")
        return self.rows[name]

    def _rows_like(self, name):
        """'It has A, B, C', of a large table the nearest and where all are listed."""
        if len(self.rows) <= MANY:
            return f"It has {', '.join(self.rows)}"
        command = f"python -m tables.rows {self.name if self.path.is_relative_to(FOLDER) else self.path}"
        return f"The nearest are {', '.join(by_distance(name, self.rows)[:5])}; {command} lists all"


def with_variants(content):
    """The rows of a file, each followed by its variants."""
    for name, row in content["rows"].items():
        yield name, row
        for variant, keys in content.get("variants", {}).items():
            yield f"{name}+{variant}", merged(row, keys)


def read_content(path):
    """The content of a table file; of one that is like another, the other's with its changes."""
    content = read_object(path)
    if "like" not in content:
        return content
    check_keys(path, content, LIKE_KEYS, ("like",))
    base = read_content(beside(path, content["like"]))
    check_keys(path, base, KEYS, REQUIRED)
    changes, grid = content.get("changes", {}), content.get("grid", {})
    if unknown := [key for key in grid if key not in base.get("grid", {})]:
        raise ConfigError(f"{path}: grid: {unknown[0]} is no key of the grid of {content['like']}")
    rows = {}
    for name, row in base["rows"].items():
        own = {"grid": merged(row.get("grid", base["grid"]), grid)} if grid else {}
        rows[name] = with_changes({**row, **own}, changes)
    return {**base, "rows": rows}


def beside(path, name):
    """The table file of this name in the same folder."""
    if not (other := Path(path).with_name(f"{name}.json")).is_file():
        raise ConfigError(f"{path}: {name}: there is no {other}")
    return other


def chosen_rows(table, names):
    """The rows of a table file that are asked for, or all. A name with * stands for all rows that it fits."""
    found = {}
    for name in names or ["*"]:
        fitting = fnmatch.filter(table.rows, name) if "*" in name else []
        found |= {row: table.row(row) for row in fitting or [name]}
    return list(found.values())


def check_keys(place, content, kinds, required=()):
    for key, value in content.items():
        if key not in kinds:
            raise ConfigError(
                f"{place}: {key}={value!r}: unknown key.{nearest(key, kinds)} Expected {', '.join(kinds)}"
            )
        if not isinstance(value, kinds[key]) or isinstance(value, bool):
            raise ConfigError(f"{place}: {key}={value!r}: expected {kinds[key].__name__}")
    if missing := [key for key in required if key not in content]:
        raise ConfigError(f"{place}: {missing[0]} is missing. Expected {', '.join(required)}")


def check_row(path, row):
    """What programs rely on before a row is compared with the schema."""
    place = f"{path}: row {row.name}"
    if "/" in row.name or not row.name:
        raise ConfigError(f"{place}: expected a name without /, as rows are asked for by TABLE/ROW")
    if not isinstance(dataset := row.config.get("dataset"), str):
        raise ConfigError(f"{place}: dataset " + ("is missing" if dataset is None else f"{dataset!r}: expected a name"))
    check_seeds(place, row.seeds)


def check_seeds(place, seeds):
    if not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds) or len(set(seeds)) < len(seeds):
        raise ConfigError(f"{place}: seeds={seeds}: expected different numbers >= 0")


def read_object(path):
    """The JSON object of a file; a key that stands twice in one object is refused."""

    def unique(pairs):
        content = dict(pairs)
        if len(content) < len(pairs):
            names = [key for key, _ in pairs]
            twice = next(key for key in names if names.count(key) > 1)
            raise ConfigError(f"{path}: {twice!r} stands twice in one object: rename or remove one")
        return content

    try:
        content = json.loads(Path(path).read_text(), object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not a JSON file: {error}") from error
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected a JSON object, found {type(content).__name__}")
    return content


# --------------------------------------------------------------------------------------------------------------------
# Configurations as nested dictionaries


def merged(base, changes):
    """A copy of `base` with the keys of `changes`. A section of another kind replaces that of `base`; else both are merged."""
    result = dict(base)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, dict)
        same = both and (kind_of(value) is None or kind_of(old) in (None, kind_of(value)))
        result[key] = merged(old, value) if same else json.loads(json.dumps(value))
    return result


def with_changes(config, changes):
    """A copy of a configuration with changed keys, given by their dotted names. Another kind of a section comes before its keys."""
    for key, value in sorted(changes.items(), key=lambda change: not change[0].endswith(".kind")):
        for part in reversed(key.split(".")):
            value = {part: value}
        config = merged(config, value)
    return config


def expand(grid):
    """[{"net.L": 2, "train.batch_size": 32}, ...]: all combinations of the lists of a grid; the last key changes fastest."""
    if not grid:
        return []
    for key, values in grid.items():
        if not isinstance(values, list) or not values:
            raise ConfigError(f"grid: {key}={values!r}: expected a list of values")
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


# --------------------------------------------------------------------------------------------------------------------
# Finding rows


@cache
def table_files():
    """{name: table file} of all files in configs/PAPER/, sorted."""
    files = {}
    for path in sorted(FOLDER.glob("*/*.json")):
        if path.stem in files:
            raise ConfigError(f"{path}: {files[path.stem].path} has the same name: rename one")
        files[path.stem] = TableFile(path)
    return files


def find_table(name):
    """The table file of a name, `table2_ZINC` or `benchmarking_gnns/table2_ZINC`, or of a path to a file of your own."""
    path = Path(name)
    if path.suffix == ".json":
        if not path.is_file():
            raise ConfigError(f"{name}: no such file")
        return TableFile(path)
    files = table_files()
    if path.name in files and str(files[path.name].path.with_suffix("")).endswith(f"/{name.strip('/')}"):
        return files[path.name]
    raise ConfigError(f"{name}: no such table.{nearest(path.name, files)} Known: {', '.join(files)}")


def find_row(name, main=None):
    """The row of a name: `table2_ZINC/GCN-L4`, `my_table.json/GCN-L4`, or `GCN-L4` where only one table (of this main) has it;
    of a table with one row also its own name."""
    if "/" in name:
        table, _, row = name.rpartition("/")
        if not row.endswith(".json"):
            return find_table(table).row(row)
    if name.endswith(".json") or name in table_files():
        table = find_table(name)
        if len(table.rows) > 1:
            raise ConfigError(
                f"{name}: name one of its rows, as {name}/{next(iter(table.rows))}: {', '.join(table.rows)}"
            )
        return next(iter(table.rows.values()))
    tables = [table for table in table_files().values() if main in (None, table.main)]
    found = [table.rows[name] for table in tables if name in table.rows]
    if len(found) == 1:
        return found[0]
    if found:
        raise ConfigError(f"{name}: several tables have this row: {', '.join(map(str, found))}")
    names = {row: None for table in tables for row in table.rows} | {
        str(r): None for t in tables for r in t.rows.values()
    }
    raise ConfigError(f"{name}: no such row.{nearest(name, names)} python -m tables.rows lists all rows")
