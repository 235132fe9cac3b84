"""Fuzzing of everything that reads: a small valid corpus per reader, mutated, and the rule that any mutant must obey.

The rule: a mutant is read, or refused by a named error of one line; memory stays bounded; nothing is left behind. A short budget
runs with the tests; `python -m tests.fuzz --minutes 30` runs longer and prints the figures.
"""
