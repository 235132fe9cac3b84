"""Starts a main file so that expected errors end the program with their message instead of a traceback."""

import sys

from data.packed import StoreError
from train.files import RunError, explain


def launch(main):
    try:
        main()
    except (RunError, StoreError) as error:
        sys.exit(f"error: {error}")
    except OSError as error:  # of the disk, where no one knew better what to say
        sys.exit(f"error: {explain(error, error.filename or 'disk')}")
