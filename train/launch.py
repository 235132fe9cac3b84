"""Starts a main file so that expected errors end the program with their message instead of a traceback."""

import sys

from data.packed import StoreError
from train.files import RunError


def launch(main):
    try:
        main()
    except (RunError, StoreError) as error:
        sys.exit(f"error: {error}")
