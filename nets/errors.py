"""The error of nets/ that a user can do something about: a main file prints it in one line, without a traceback."""


class NetError(ValueError):
    """A net that cannot be built for this dataset, or cannot read its graphs: the message says which key to change."""
