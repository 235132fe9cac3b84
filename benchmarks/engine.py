"""What the engine itself costs: 47,000 jobs with the dependencies of a nested cross-validation, none of which does anything.

Ten outer folds for each of 45 pairs of model and dataset; for each 101 inner runs to select a configuration, then three
runs to assess it, which wait for them. The jobs are done in memory, so what is timed is the order of the jobs alone.

    python benchmarks/engine.py
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from launch import engine
from launch.engine import Engine, Job

DONE = set()  # names of finished jobs; a real engine looks for result files


class Idle(Engine):
    """Jobs that are done as soon as they are looked at, `width` at a time."""

    def __init__(self, width):
        self.width, self.under_way = width, 0

    def room(self):
        return self.under_way < self.width

    def start(self, job):
        self.under_way += 1
        return job

    def poll(self, job):
        self.under_way -= 1
        DONE.add(job.name)
        return 0

    def stop(self, handles):
        pass


def idle(name, needs=()):
    return Job(name, (), Path(), name, (name,), needs=needs, accepts=lambda path: str(path) in DONE)


def nested(n_pairs, n_inner, n_outer=10, n_assess=3):
    jobs = []
    for i in range(n_pairs):
        for fold in range(n_outer):
            inner = [f"{i}/{fold}/inner{k}" for k in range(n_inner)]
            jobs += map(idle, inner)
            outer = [f"{i}/{fold}/assess{k}" for k in range(n_assess)]
            jobs += [idle(name, needs=tuple(inner)) for name in outer]
    return jobs


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=256, help="runs at once")
    width = parser.parse_args(argv).width
    engine.POLL = 0.0
    costs = {}
    for n_pairs in (5, 45):
        DONE.clear()
        jobs = nested(n_pairs, n_inner=101)
        start = time.process_time()
        state = Idle(width).run(jobs)
        costs[len(jobs)] = (time.process_time() - start) / len(jobs)
        assert len(state.done) == len(jobs)
    for n, cost in costs.items():
        print(f"{n:6} jobs, {width} at once: {1e6 * cost:.0f} microseconds per job")
    (_, few), (_, many) = costs.items()
    print(f"a job among many costs {many / few:.1f} times one among few")


if __name__ == "__main__":
    main()
