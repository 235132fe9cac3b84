"""Runs and their results: identity, folder, files, result, ledger, the table files of configs/. Neither torch nor dgl is
needed here."""
