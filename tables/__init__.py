"""The papers' tables, paper beside ours, from results alone. Neither torch nor dgl is needed here."""

from tables.summary import pair_report, row_report, selection_report

__all__ = ["pair_report", "row_report", "selection_report"]
