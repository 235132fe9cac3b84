"""How many pairs of BREC the exact methods tell apart, by kind of graph; without names the twins of the nets, in about a minute.

    python -m tools.exact_counts [NGNN 3-WL ...] [--most_nodes 64] [--list] [--write]

--most_nodes leaves larger graphs out, --list also prints the numbers of the pairs that are not told apart, --write puts the answers
of all twins into the file that the tables read.
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

from data.BREC import BREC, KINDS
from exact import METHODS
from exact.twins import TABLE_5, TWINS

ANSWERS = Path(__file__).resolve().parents[1] / "tables" / "papers" / "brec_twins.json"


def count(name, dataset, most_nodes):
    """(pairs asked, pairs told apart) by their numbers."""
    pairs = {i: dataset.edges(i) for i in range(len(dataset))}
    asked = [i for i, (g, _) in pairs.items() if g[0] <= most_nodes]
    return asked, [i for i in asked if METHODS[name](*pairs[i])]


def ranges(numbers):
    """1, 2, 3, 7 as "1-3 7"."""
    runs = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][-1] = number
        else:
            runs.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tools.exact_counts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("method", nargs="*", help="names of exact.METHODS (the twins of the nets)")
    parser.add_argument("--most_nodes", type=int, default=198, help="of a graph (198: all)")
    parser.add_argument("--list", action="store_true", help="pairs that are not told apart")
    parser.add_argument("--write", action="store_true", help=f"all twins, into {ANSWERS.name}")
    arguments = parser.parse_args(argv)
    if arguments.write and (arguments.method or arguments.most_nodes < 198):
        parser.error("--write: all twins on all pairs, without other options")
    if unknown := [name for name in arguments.method if name not in METHODS]:
        parser.error(f"{unknown[0]}: expected names among {', '.join(METHODS)}")
    dataset = BREC()
    kind_of = [kind.name for kind in KINDS for _ in range(kind.n_pairs)]
    print("".join(f"{title:>20}" for title in ("", *(kind.name for kind in KINDS), "all", "CPU seconds")))
    answers = {}
    for name in arguments.method or TWINS | TABLE_5:
        start = time.process_time()
        asked, apart = count(name, dataset, arguments.most_nodes)
        seconds = time.process_time() - start
        answers[name] = "".join(str(int(i in set(apart))) for i in range(len(dataset)))
        n_asked, n_apart = Counter(kind_of[i] for i in asked), Counter(kind_of[i] for i in apart)
        cells = [f"{n_apart[kind.name]} of {n_asked[kind.name]}" for kind in KINDS]
        print("".join(f"{cell:>20}" for cell in (name, *cells, len(apart), f"{seconds:.1f}")), flush=True)
        if arguments.list:
            print(f"  not told apart: {ranges(sorted({*asked} - {*apart}))}")
    if arguments.write:
        ANSWERS.write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()
