"""Everything between a net and its table row: configuration, loop, tasks, metrics, checkpoints, results."""

import process  # noqa: F401 - before torch is loaded
