"""Datasets: one module a family (read or generate, split, pack) and the packed store they share, `data.packed`."""
