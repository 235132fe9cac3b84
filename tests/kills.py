"""Ends a process at each of its steps in the file system, one after the other: what a kill at any moment can leave behind."""

import os
import sys
import traceback
from itertools import count

STEPS = {
    "open",
    "os.mkdir",
    "os.rename",
    "os.remove",
    "os.rmdir",
    "os.truncate",
    "shutil.rmtree",
    "os.listdir",
    "os.scandir",
}
KILLED, FAILED = 91, 92


def killed_at(n, action, folder):
    """Run action() in a process that ends, without any clean-up, before its n-th step below `folder`; False if it has fewer."""
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, KILLED), f"step {n}: the process ended with {code}"
        return code == KILLED
    steps = count(1)

    def end(event, arguments):
        if event in STEPS and str(arguments[0]).startswith(str(folder)) and next(steps) == n:
            os._exit(KILLED)

    try:
        sys.addaudithook(end)
        action()
    except BaseException:
        traceback.print_exc()
        os._exit(FAILED)
    os._exit(0)


def each_kill(action, folder, begin):
    """begin() makes the state before; yields n after a kill at step n, until action() ends by itself. At least five steps."""
    for n in count(1):
        begin()
        if not killed_at(n, action, folder):
            assert n > 5, f"{n - 1} steps are too few to mean anything: is the folder right?"
            return
        yield n
