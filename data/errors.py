"""The errors of data/ that a user can do something about: a main file prints them in one line, without a traceback."""

REMEDY = "delete the file, and get it again"  # for a raw file that is damaged or another than expected


class DataError(Exception):
    """A raw file is missing, damaged or not what it should be; or a split cannot be used."""


class WrongValue(DataError, ValueError):
    """A graph, field or split that a dataset gives and that cannot be stored or used: too long, of another type, out of range."""


class StoreError(Exception):
    """A store is damaged, incomplete, of another version, or in the way."""
