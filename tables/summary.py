"""The text that a main file ends with: its results beside what the papers print for them."""

from runs.measures import Measure
from runs.naming import as_text
from runs.table_files import expand, table_files
from tables.columns import EMPTY, Beside, Score
from tables.compare import spread
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
    """Scores, counts and costs of runs of one configuration (seeds, folds), paper beside ours where a paper prints them."""
    found = printed_lines(results)
    seeds, folds = sorted({r["seed"] for r in results}), {r["fold"] for r in results}
    line = Line(name, None, results=results, folds=len(folds))
    papers = [f"paper, {table.label}" for _, table, _ in found] if len(found) > 1 else ["paper"] * len(found)
    variants = "".join(f"; {variant}" for variant in dict.fromkeys(table.variant for _, table, _ in found) if variant)
    ours = ours or f"ours (seed {', '.join(map(str, seeds))}; {len(folds)} fold{'s' * (len(folds) > 1)}{variants})"
    rows = [("", *papers, ours)]
    for column in columns_of(found, results):
        printed = [column.paper(other).text for _, _, other in found]
        found_here = column.cell(line).text
        if column.label and {*printed, found_here} != {EMPTY.text}:
            rows.append((column.label_of(line), *printed, found_here))
    if failed := [f"seed {r['seed']} fold {r['fold']}: {r['status']}" for r in results if r["status"] != "ok"]:
        rows.append(("not finished", *[""] * len(papers), ", ".join(failed)))
    places = list(dict.fromkeys(f"{table.label} of {paper.title}" for paper, table, _ in found))
    title = f"{name}, {' and '.join(places)}" if places else f"{name} (not a row of a paper)"
    return "\n".join([title, "", *aligned(rows)])


def pair_report(name, results):
    """The same for runs over pairs of graphs: of several seeds the best one counts."""
    return row_report(name, results, f"ours (best of {len(results)} seeds)" if len(results) > 1 else "ours")


# --------------------------------------------------------------------------------------------------------------------
# Model selection


def selection_report(name, grid, outcomes):
    """The table of all configurations, then scores and costs of the chosen ones. `outcomes` has (result or None, lines of the
    ledger) of each seed and fold."""
    results = [result for result, _ in outcomes if result]
    if not outcomes:
        return f"{name}: this part of the grid is trained; the command without --part uses it"
    text = selection_table(name, grid, outcomes)
    return "\n\n".join([text, row_report(name, results)]) if results else text


def selection_table(name, grid, outcomes):
    configurations, measure = expand(grid), measure_of(outcomes)
    rows = [("", *grid, f"val {measure.name}{measure.unit}", "chosen")]
    for i, changes in enumerate(configurations):
        lines = [lines[str(i)] for _, lines in outcomes if str(i) in lines]
        rows.append((str(i), *map(as_text, changes.values()), score_text(lines, measure), chosen_text(i, outcomes)))
    trained = sum(str(i) in lines for i in range(len(configurations)) for _, lines in outcomes)
    title = (
        f"{name}: {len(configurations)} configurations, {trained} of {len(configurations) * len(outcomes)} trainings are made. "
        "The best validation is chosen, of equal ones the last."
    )
    return "\n".join([title, "", *aligned(rows)])


def measure_of(outcomes):
    """What the configurations are compared by: the first measure of a result, or before there is one that of a line."""
    for result, lines in outcomes:
        if result:
            return Measure(**result["measures"][0])
        for line in lines.values():
            if line.get("val"):
                return Measure(next(key for key in line["val"] if key != "loss"), "max")
    return Measure("score", "max")


def score_text(lines, measure):
    """'61.250 ± 2.100' over the folds, and what became of trainings that do not count."""
    counting = [line for line in lines if line["val"] and line["status"] in ("ok", "Diverged")]
    values = [line["val"][measure.name] for line in counting]
    text = spread(values, measure.digits) if values else ""
    return " ".join([text, *dict.fromkeys(line["status"] for line in lines if line not in counting)]).strip()


def chosen_text(i, outcomes):
    """'* fold 0, 3' for the folds in which configuration i was selected."""
    chosen = [result for result, _ in outcomes if result and result["selected"] == i]
    several = len({result["seed"] for result, _ in outcomes if result}) > 1
    places = [f"{'seed ' + str(r['seed']) + ' ' if several else ''}fold {r['fold']}" for r in chosen]
    return "* " + ", ".join(places) if places else ""
