"""After a row's file was changed: give the results that were made before the name they have now, so that they neither count as the
row's nor are lost.

    python -m train.rename out             T3-CSL-GCN-LapPE-L4 becomes T3-CSL-GCN-LapPE-L4+net.pos_enc=rand_sign
    python -m train.rename out --check     only says what would be renamed

A name is the row's file and what a run differs in from it (train/naming.py). The other way round, a run that was made with a change
that the row's file has by now becomes a run of the row.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import filelock

from train.config import ConfigError, read_config
from train.files import RunError, read_json, write_json
from train.result_files import existing_folder, name_now, row_files
from train.results import is_result


def wanted_moves(folder):
    """[(folder of a run, name it has now)] of the finished runs below `folder` that are called something else."""
    found = []
    for path in sorted(Path(folder).rglob("result.json")):
        result = read_json(path)
        if not is_result(result) or path.parts[-3:-1] != (f"seed_{result['seed']}", f"fold_{result['fold']}"):
            continue  # foreign, or moved aside by --force
        name = name_now(result)
        if {result["name"], path.parts[-4]} != {name}:
            found.append((path.parent, name))
    return found


def folder_of(run, name):
    """The folder that a run, .../NAME/seed_S/fold_F, has by another name."""
    return run.parents[1].with_name(name) / run.parent.name / run.name


def rename(run, name):
    """Move a run to the folder of its new name. Killed in between, it is taken up again."""
    target = folder_of(run, name)
    with filelock.FileLock(run / ".lock", timeout=0):
        stem = name.split("+")[0]
        row = read_config(row_files()[stem]).get("row") if name == stem else None
        write_json(run / "result.json", read_json(run / "result.json") | {"name": name, "row": row})
        target.parent.mkdir(parents=True, exist_ok=True)
        run.rename(target)
    (target / ".lock").unlink(missing_ok=True)
    for empty in (run.parent, run.parents[1]):
        if not any(empty.iterdir()):
            empty.rmdir()


def rename_all(moves):
    """Rename what can be; returns [(run, name, why not)]. Where two runs change names, one goes first."""
    while moves:
        left = []
        for run, name in moves:
            target = folder_of(run, name)
            if target.exists():
                left.append((run, name, f"{target} is there already: move one of them away"))
                continue
            try:
                rename(run, name)
            except filelock.Timeout:
                left.append((run, name, "another process is working on it"))
        if len(left) == len(moves):
            return left
        moves = [(run, name) for run, name, _ in left]
    return []


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m train.rename", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=existing_folder, help="folder with runs, as out")
    parser.add_argument("--check", action="store_true", help="rename nothing")
    arguments = parser.parse_args(argv)
    try:
        moves = wanted_moves(arguments.folder)
        for (old, new), n in Counter((run.parts[-3], name) for run, name in moves).items():
            print(f"{old} -> {new}: {n} runs")
        refused = [] if arguments.check else rename_all(moves)
    except (RunError, ConfigError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for run, _, reason in refused:
        print(f"not renamed: {run}: {reason}", file=sys.stderr)
    if not moves:
        print(f"{arguments.folder}: every result has the name of its row as that is now")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
