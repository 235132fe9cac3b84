"""An epoch of a row on its own dataset, with the code of this checkout and of another: is it faster or slower than it was?

    python benchmarks/epochs.py OTHER [ROW ...] [--rounds 7]
    git worktree add ../before v1.0 && python benchmarks/epochs.py ../before fair_GIN/ENZYMES taxonomy_figure4/IMDB-BINARY

ROW is any row that trains a net, but those of BREC; of the Fair Comparison the first configuration of its grid. Each checkout is a
process of its own; they take turns, epoch by epoch, and the median of their ratios is printed with the smallest and the largest:
above 1 this one is faster. Times are those of the processor (one thread), so that other programs matter little.
"""

import argparse
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent.parent
ROWS = (
    "fair_GIN_reduced/ENZYMES",
    "fair_GraphSAGE_reduced/ENZYMES",
    "taxonomy_figure4/ENZYMES",
    "taxonomy_figure4/ENZYMES+FullyConn",
    "taxonomy_figure4/IMDB-BINARY",
    "taxonomy_figure5/WebKB-Cor",
    "table3/GCN-LapPE-L4",
    "table3/GatedGCN-LapPE-L4",
)


def make_trainer(name):
    """The training of a row, by the code of the working folder."""
    import torch

    from data.registry import DATASETS, open_dataset
    from data.TUs import PREFIX
    from runs.table_files import find_row
    from train import auroc_task, parse_config, selection, task_of

    main = find_row(name).table.main
    fair = main == "fair_comparison"
    schema = {"schema_of": lambda content: selection.SelectionConfig} if fair else {}
    config = parse_config(["--config", name], main, DATASETS, default=name, prefix=PREFIX, **schema)
    one = config.configurations()[0][1] if fair else config
    dataset = open_dataset(one.dataset, one.data if fair else one.data.of_run(one.seed), needs=one.net.needs)
    task = (auroc_task if main == "taxonomy" else task_of)(dataset)
    return selection.make_trainer(one, dataset, dataset.fold(0), task, seed=0, device=torch.device("cpu"))


def work(name):
    """What the process of a checkout does: for each line it reads an epoch, and its seconds as the answer."""
    answers, sys.stdout = sys.stdout, sys.stderr
    sys.path.insert(0, os.getcwd())
    trainer = make_trainer(name)
    for _ in range(2):
        trainer.run_epoch(lambda: None)
    for _ in sys.stdin:
        start = time.process_time()
        trainer.run_epoch(lambda: None)
        print(time.process_time() - start, file=answers, flush=True)


def ask(process):
    process.stdin.write("\n")
    process.stdin.flush()
    if not (answer := process.stdout.readline()):
        raise SystemExit(f"the process of {process.args[-1]} ended with code {process.wait()} (see above)")
    return float(answer)


def ratios(folders, name, rounds):
    """Seconds of an epoch in the second folder over those in the first, of each round."""
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, __file__, "--work", name],
                    cwd=folder,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for folder in folders
        ]
        times = [[ask(process) for process in processes] for _ in range(rounds)]
    return [other / ours for ours, other in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="folder of another checkout")
    parser.add_argument("rows", nargs="*", metavar="ROW", default=ROWS)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    if not (arguments.other / "main_taxonomy.py").exists():
        parser.error(f"{arguments.other}: no checkout of this project (it has no main_taxonomy.py)")
    width = max(map(len, arguments.rows))
    for name in arguments.rows:
        found = ratios([HERE, arguments.other], name, arguments.rounds)
        print(f"{name:{width}}  {median(found):.2f}  ({min(found):.2f}-{max(found):.2f})", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--work"]:
        work(sys.argv[2])
    else:
        main()
