"""Ctrl-C and SIGTERM as an orderly stop, at a moment of the program's choosing; and no complaint about a closed pipe."""

import signal
import threading
from contextlib import contextmanager


class Interrupted(Exception):
    """Ctrl-C or SIGTERM arrived; the argument is the signal's number."""


@contextmanager
def stop_signals():
    """Turn Ctrl-C and SIGTERM into an orderly stop: gives a function that raises Interrupted once one has arrived.

    A second Ctrl-C stops at once; nothing is lost then either, since every file is replaced whole.
    """
    arrived = []

    def handler(number, frame):
        if number == signal.SIGINT and arrived:
            raise KeyboardInterrupt
        arrived.append(number)

    def check():
        if arrived:
            raise Interrupted(arrived[0])

    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield check
        return
    previous = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield check
    finally:
        for number, old in previous.items():
            signal.signal(number, old)


def end_with_pipe():
    """Have a program that prints end without a word when nobody reads on, as behind `| head`."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
