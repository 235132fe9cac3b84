"""The text that a main file ends with: its results beside what the papers print for them."""

from runs.table_files import table_files
from tables.columns import EMPTY, Beside, Score
from tables.declare import Line, lines_of
from tables.formats import aligned
from tables.papers import PAPERS, own_columns


def printed_lines(results):
    """[(paper, table, line)] of the papers' lines that the results belong to by their identity: in several tables, or in none."""
    ids, datasets = {r["id"] for r in results}, {r["config"].get("dataset") for r in results}
    found = []
    for paper in PAPERS:
        for table in paper.tables:
            if table.of_other_tables or not any(isinstance(column, Beside) for column in table.columns):
                continue  # that of a table of settings has nothing to compare
            file = table_files().get(table.name)
            if file and any(row.config.get("dataset") in datasets and row.id() in ids for row in file.rows.values()):
                lines = lines_of(file, table, results)
                found += [(paper, table, line) for line in lines if line.results and line.printed]
    return found


def columns_of(found, results):
    """Those of the first table, with the further metrics of the results behind its scores."""
    columns = found[0][1].columns if found else ()
    own = [column for column in own_columns(results) if not found or isinstance(column, Score)]
    known = {column.label for column in columns if column.label}
    columns = [*columns, *(column for column in own if column.label not in known)]
    scores = [column for column in columns if isinstance(column, Score)]
    return [*sorted(scores, key=lambda score: score.split), *(c for c in columns if c not in scores)]


def row_report(name, results, ours=None):
    """Scores, counts and costs of runs of one configuration (seeds, folds), paper beside ours."""
    found = printed_lines(results)
    seeds, folds = sorted({r["seed"] for r in results}), {r["fold"] for r in results}
    line = Line(name, None, results=results, folds=len(folds))
    papers = [f"paper, {table.label}" for _, table, _ in found] if len(found) > 1 else ["paper"]
    variants = "".join(f"; {variant}" for variant in dict.fromkeys(table.variant for _, table, _ in found) if variant)
    ours = ours or f"ours (seed {', '.join(map(str, seeds))}; {len(folds)} fold{'s' * (len(folds) > 1)}{variants})"
    rows = [("", *papers, ours)]
    for column in columns_of(found, results):
        printed = [column.paper(other).text for _, _, other in found] or ["-"]
        found_here = column.cell(line).text
        if column.label and {*printed, found_here} != {EMPTY.text}:
            rows.append((column.label_of(line), *printed, found_here))
    if failed := [f"seed {r['seed']} fold {r['fold']}: {r['status']}" for r in results if r["status"] != "ok"]:
        rows.append(("not finished", *[""] * len(papers), ", ".join(failed)))
    places = list(dict.fromkeys(f"{table.label} of {paper.title}" for paper, table, _ in found))
    title = f"{name}, {' and '.join(places)}" if places else f"{name} (not a row of the paper)"
    return "\n".join([title, "", *aligned(rows)])


def pair_report(name, results):
    """The same for runs over pairs of graphs: of several seeds the best one counts."""
    return row_report(name, results, f"ours (best of {len(results)} seeds)" if len(results) > 1 else "ours")
