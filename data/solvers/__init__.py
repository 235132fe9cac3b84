"""Solvers that label a generated dataset."""
