"""Runs main_CSL.py and kills it with SIGKILL at random moments until it has finished. A program, not a test.

The modules are loaded once and each attempt is a fork, so that a kill costs milliseconds and not seconds of start-up.
Prints the number of kills.    python -m tests.train.killed_runs SEED LONGEST_LIFE ARGUMENTS_OF_MAIN...
"""

import process  # noqa: F401, I001 - before torch

import os
import random
import signal
import sys
import time

import torch

import main_CSL


def attempt(argv, seconds):
    """One fork of the program, killed after some seconds unless it ends before. True when it has finished."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            main_CSL.main(argv)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            if os.waitstatus_to_exitcode(status) != 0:
                sys.exit("the program failed")
            return True
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main():
    seed, longest, *argv = sys.argv[1:]
    torch.optim.Adam(
        [torch.zeros(1, requires_grad=True)]
    )  # torch loads its compiler at the first optimizer, for seconds
    chance = random.Random(int(seed))
    kills = 0
    # lives grow longer, so that it ends on a machine of any speed
    while not attempt(argv, chance.uniform(0, float(longest) * (1 + kills / 10))):
        kills += 1
    print(kills)


if __name__ == "__main__":
    main()
