"""Errors that end a program with one line: the value seen, the place, the remedy."""

import difflib


class ConfigError(SystemExit):
    """A configuration that cannot be run; ends the program with the message."""


def nearest(word, names):
    """' Did you mean …?' for the nearest of the names, or nothing."""
    close = difflib.get_close_matches(word, list(names), n=1, cutoff=0.4)
    return f" Did you mean {close[0]}?" if close else ""
