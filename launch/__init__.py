"""Many runs: local processes or a Ray cluster, and the missing runs of a table file."""
