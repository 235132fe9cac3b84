"""The papers' tables, paper beside ours, from results alone. Neither torch nor dgl is needed here."""


def row_report(name, results):
    """The text that a main file ends with."""
    lines = [name]
    for record in results:
        values = (record["metrics"] or {}).get(record["select"])
        lines.append(
            f"seed {record['seed']} fold {record['fold']}: {record['status']}, {record['epochs']} epochs, {values}"
        )
    return "\n".join(lines)


pair_report = row_report
