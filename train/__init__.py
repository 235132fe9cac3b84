"""Everything between a net and its table row: configuration, loop, tasks, metrics, checkpoints, results."""
