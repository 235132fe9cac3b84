"""Fuzzes every reader for some minutes and prints the figures; exit 1 if a mutant broke the rule.

python -m tests.fuzz --minutes 30                 all readers in turn
python -m tests.fuzz --minutes 1 --seed 7 TU npz  two of them; the seed repeats a run
"""

import argparse
import random
import sys
import time
from collections import Counter

from tests.fuzz.rule import Broken, try_mutant
from tests.fuzz.targets import TARGETS


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", choices=[[], *TARGETS], help=f"readers: {', '.join(TARGETS)}; all when none is named"
    )
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    names, chance = arguments.names or list(TARGETS), random.Random(arguments.seed)
    end, counts, broken = time.monotonic() + 60 * arguments.minutes, Counter(), {}
    while time.monotonic() < end:
        name = names[sum(counts.values()) % len(names)]
        file = chance.randrange(100)
        mutations = [
            (chance.randrange(9), chance.random(), chance.randrange(1001)) for _ in range(chance.randint(1, 4))
        ]
        try:
            outcome = try_mutant(TARGETS[name], file, mutations)
        except Broken as error:
            outcome = "BROKEN"
            broken.setdefault(str(error)[:120], f"try_mutant(TARGETS[{name!r}], {file}, {mutations})")
        counts[name, outcome] += 1
    print(f"{'reader':20} {'mutants':>8} {'read':>8} {'refused':>8} {'broken':>8}")
    for name in names:
        found = [counts[name, outcome] for outcome in ("read", "refused", "BROKEN")]
        print(f"{name:20} {sum(found):8}" + "".join(f" {n:8}" for n in found))
    for message, call in broken.items():
        print(f"{message}\n    {call}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
