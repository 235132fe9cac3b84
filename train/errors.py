"""Starts a main file so that expected errors end the program with one line instead of a traceback."""

import os
import sys
from contextlib import contextmanager, redirect_stdout

import torch.distributed as dist

from data.errors import DataError, StoreError
from nets import NetError
from runs.files import BUSY, DISK_ERRORS, RunBusy, RunError, explain
from runs.signals import Interrupted
from train.distributed import is_first


def run_main(main):
    try:
        with one_of_several():
            main()
    except KeyboardInterrupt:
        print("\nStopped; the same command goes on from what is finished.", file=sys.stderr)
        sys.exit(130)
    except Interrupted as stop:
        print("\nStopped; the same command goes on from what is finished.", file=sys.stderr)
        sys.exit(128 + stop.args[0])
    except RunBusy as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(BUSY)
    except (RunError, StoreError, DataError, NetError) as error:
        sys.exit(f"error: {error}")
    except OSError as error:  # a full or read-only disk where no one knew better what to say; anything else is a bug
        if error.errno not in DISK_ERRORS:
            raise
        sys.exit(f"error: {explain(error, error.filename or 'disk')}")


@contextmanager
def one_of_several():
    """Of the processes that torchrun started the first one alone prints, and all of them take leave of each other."""
    with open(os.devnull, "w") as nowhere, redirect_stdout(sys.stdout if is_first() else nowhere):
        yield
    if dist.is_initialized():
        dist.barrier()  # who leaves while another still talks to it takes that one down
        dist.destroy_process_group()
