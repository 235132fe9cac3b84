"""Many runs: local processes or a Ray cluster, and the missing runs of a table file."""

import runs  # noqa: F401 - first: it says so if the packages of the project are not installed
