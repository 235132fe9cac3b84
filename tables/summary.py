"""The text that a main file ends with: its results beside what the paper prints for them."""

from statistics import fmean

from runs.measures import Measure
from runs.table_files import table_files
from tables.columns import Score
from tables.compare import spread
from tables.declare import Line, lines_of
from tables.formats import aligned
from tables.papers import PAPERS
from tables.papers.brec import CATEGORIES, COUNTS, DETAILS, minutes


def printed_lines(results):
    """[(paper, table, line)] of the papers' lines that the results belong to by their identity: in several tables, or in none."""
    found = []
    for paper in PAPERS:
        for table in paper.tables:
            file = table_files().get(table.name)
            lines = lines_of(file, table, results) if file and has_row(file, results) else []
            found += [(paper, table, line) for line in lines if line.results and line.printed]
    return found


def has_row(file, results):
    """Whether the table file has a row with the identity of one of the results."""
    ids, datasets = {r["id"] for r in results}, {r["config"].get("dataset") for r in results}
    return any(row.config.get("dataset") in datasets and row.id() in ids for row in file.rows.values())


def row_report(name, results):
    """Scores and costs of runs of one configuration (folds, seeds), paper beside ours."""
    found = printed_lines(results)
    line = Line(name, None, results=results)
    rows = score_lines(line, found) + cost_lines(line, found)
    if failed := [f"seed {r['seed']} fold {r['fold']}: {r['status']}" for r in results if r["status"] != "ok"]:
        rows.append(("not finished", *[""] * max(1, len(found)), ", ".join(failed)))
    seeds, folds = sorted({r["seed"] for r in results}), {r["fold"] for r in results}
    ours = f"ours (seed {', '.join(map(str, seeds))}; {len(folds)} fold{'s' * (len(folds) > 1)})"
    return "\n".join([title(name, found), "", *aligned([header(found, ours), *rows])])


def title(name, found):
    if not found:
        return f"{name} (not a row of the paper)"
    return f"{name}, " + " and ".join(
        dict.fromkeys(f"Table {table.number} of {paper.title}" for paper, table, _ in found)
    )


def header(found, ours):
    several = len(found) > 1
    return "", *([f"paper, Table {table.number}" if several else "paper" for _, table, _ in found] or ["paper"]), ours


def printed_texts(found, key):
    return [line.printed[key].text if key in line.printed else "-" for _, _, line in found] or ["-"]


def score_lines(line, found):
    """Per split what the paper compares, then the further metrics of the results."""
    compared = [c for _, table, _ in found[:1] for c in table.columns if isinstance(c, Score)]
    own = {m["name"]: Measure(**m) for r in line.results for m in r["measures"]}
    rows = []
    for split in ("test", "train"):
        shown = [(score.measure, printed_texts(found, split)) for score in compared if score.split == split]
        names = {measure.name for measure, _ in shown}
        shown += [(m, ["-"] * max(1, len(found))) for name, m in own.items() if name not in names]
        for measure, texts in shown:
            values = line.scores(split, measure.name)
            rows.append(
                (f"{split} {measure.name}{measure.unit}", *texts, spread(values, measure.digits) if values else "-")
            )
    return rows


def cost_lines(line, found):
    done, seeds = line.done, {r["seed"] for r in line.done}
    costs = (
        ("epochs", "epochs", lambda: fmean(r["epochs"] for r in done)),
        ("seconds per epoch", "epoch_time_s", lambda: fmean(r["epoch_time_s"] or 0 for r in done)),
        ("hours per seed", "total_time_hr", lambda: sum(r["total_time_hr"] for r in done) / len(seeds)),
    )
    rows = [(what, *printed_texts(found, key), f"{ours():.2f}" if done else "-") for what, key, ours in costs]
    counted = ", ".join(sorted({str(r["params"]) for r in line.results}))
    return [*rows, ("parameters", *printed_texts(found, "params"), counted)]


def pair_report(name, results):
    """Pairs of BREC told apart, paper beside ours; of several seeds the best."""
    found = printed_lines(results)
    line = Line(name, "BREC", results=results)
    rows = [header(found, f"ours (best of {len(results)} seeds)" if len(results) > 1 else "ours")]
    for category, column in zip(CATEGORIES, COUNTS, strict=True):
        n = results[0]["n_pairs"].get(category, 0)
        rows.append((f"{category} ({n} pairs)", *printed_texts(found, category), column.ours(line).text))
    nothing = ["-"] * max(1, len(found))
    for what, cell in (*((d.header, d.cell) for d in DETAILS), ("minutes per seed", minutes)):
        if (text := cell(line).text) != "-":
            rows.append((what, *nothing, text))
    if diverged := sum(r["metrics"][r["select"]].get("diverged", 0) for r in line.done):
        rows.append(("diverged", *nothing, str(diverged)))
    return "\n".join([title(name, found), "", *aligned(rows)])
