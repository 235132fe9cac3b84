"""Reading result files: those that are damaged, foreign, or made with what is not their row any more are named and left out."""

import argparse
import json
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

from train.config import ROOT, ConfigError, changed_keys, completed, family_schema, identity, read_config, validate
from train.files import RunError, read_json
from train.naming import run_name
from train.results import is_result


def read_results(folders):
    """(results, problems): all result.json below the folders, and why others do not count, one text a row and reason."""
    results, problems, unfit = {}, [], defaultdict(list)
    found = [(folder, path) for folder in folders for path in sorted(Path(folder).rglob("result.json"))]
    for folder, path in found:
        if any(part.startswith("replaced-") or part == "quick" for part in path.relative_to(folder).parts):
            continue
        try:
            result = json.loads(path.read_text())
        except (ValueError, OSError) as error:
            problems.append(f"{path}: not readable ({error})")
            continue
        if not is_result(result):
            problems.append(f"{path}: not a result of this project")
            continue
        try:
            reason = outdated(result)
        except (ConfigError, ImportError) as error:
            reason = f"its row cannot be read ({error})"
        if reason:
            unfit[result["name"], reason].append(path)
            continue
        key = (result["name"], result["seed"], result["fold"])
        if key in results and results[key][0].get("finished", "") >= result.get("finished", ""):
            continue  # a copy, or an older run
        results[key] = (result, path)
    kept = one_version_of_the_data(results.values(), unfit)
    for (name, reason), paths in unfit.items():
        n = f"{len(paths)} results" if len(paths) > 1 else "a result"
        places = ", ".join(map(str, paths[:3])) + ", ..." * (len(paths) > 3)
        problems.append(f"{n} of {name}: {reason}. Move what was run away and run it again: {places}")
    return kept, problems


def one_version_of_the_data(found, unfit):
    """The results whose dataset is that of the newest result of their name; the others are added to `unfit`."""
    newest = {}
    for result, _ in sorted(found, key=lambda pair: pair[0].get("finished", "")):
        newest[result["name"]] = result["dataset"].get("hash")
    kept = []
    for result, path in found:
        if result["dataset"].get("hash") == newest[result["name"]]:
            kept.append(result)
        else:
            unfit[result["name"], "on another version of the dataset than the newest one"].append(path)
    return kept


def outdated(result):
    """Why a result must not count any more, or "": the file of its row has been changed since, so that what it was made with is not
    the row, nor the row with the changes that its name tells."""
    name = name_now(result)
    if name == result["name"]:
        return ""
    return f"the row's file has been changed since, this would be {name} now (python -m train.rename calls it so)"


def name_now(result):
    """How a run is called that was made with the configuration of this result: by its row's file as that is now."""
    stem = result["name"].split("+")[0]
    if stem not in row_files():
        return result["name"]
    now, schema = row_now(stem)
    changed = changed_keys(now, completed(result["config"], schema))
    changed.pop("seed", None)
    return run_name(stem, changed)


@cache
def row_files():
    """{row: its configuration file}"""
    files = {}
    for path in sorted((ROOT / "configs").glob("*/*.json")):
        if path.stem in files:
            raise ConfigError(
                f"{path}: {files[path.stem]} has the same name; rename one, results are kept by this name"
            )
        files[path.stem] = path
    return files


@cache
def row_now(stem):
    """(identity, schema) of a row as its file has it now."""
    path = row_files()[stem]
    content = read_config(path)
    schema = family_schema(path.parent.name)(content)
    return identity(validate(content, path, schema)), schema


def is_current(path):
    """Whether the result of the run in a folder .../ROW/seed_S/fold_F is there, and of the row's file as that is now. If not, the
    run is started, and says what is wrong with it."""
    try:
        result = read_json(path)
    except (RunError, OSError):
        return False
    if not is_result(result) or outdated(result):
        return False
    return path.parts[-4:-1] == (result["name"], f"seed_{result['seed']}", f"fold_{result['fold']}")


def add_folders(parser):
    """The option that table, significance and plot share."""
    parser.add_argument(
        "--out_dir",
        nargs="+",
        type=existing_folder,
        default=[ROOT / "out"],
        help="folders with result files: out, yours, when not given; results: those of the project",
    )


def existing_folder(text):
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text}: no such folder")
    return Path(text)


def report(problems):
    for problem in problems:
        print(f"left out: {problem}", file=sys.stderr)
