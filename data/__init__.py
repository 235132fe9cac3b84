"""Datasets: one module per family (read or generate, split, pack) and the packed store they share, `data.store`."""

import process  # noqa: F401 - before torch is loaded
