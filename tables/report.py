"""A web report of all results: a folder of plain pages that opens from disk, without a server, a network or JavaScript.

    python -m tables.report results --out site                 the papers' tables, models and deviations
    python -m tables.report results out --out site             with runs of yours, their learning curves and attention
    python -m tables.report results --out site --cards cards   with a card per dataset, made by python -m tools.cards

Needs requirements-site.txt; `bash site.sh` installs it and does everything.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from functools import partial
from pathlib import Path

from runs.collect import existing_folder, read_results, report, set_aside
from runs.table_files import ROOT, find_table
from tables.columns import COSTS, Agrees, Beside, Cell, Parameters, Score, runs
from tables.documents import as_html, code_style, entries_of, highlighted
from tables.formats import clean
from tables.pages import STATE, command_of, counts, judge_of, tables_made
from tables.papers import PAPERS
from tables.pictures import as_svg
from tables.plot import (
    by_metric,
    by_panel,
    compared_by_cost,
    draw_attention,
    draw_cost,
    draw_curves,
    draw_table,
    height_of,
    named,
    read_attention,
    read_curves,
    short_name,
    sides,
    table_points,
)
from tables.sources import models
from tables.stand_ins import STAND_INS

SITE = Path(__file__).with_name("site")
STAMP = "made-by-tables.report"  # marks a folder that may be replaced
MENU = (
    ("Overview", "index.html"),
    ("Models", "models/index.html"),
    ("Datasets", "datasets/index.html"),
    ("Learning curves", "curves.html"),
    ("Attention", "attention.html"),
)
CURVES = (
    "Dotted: training, solid: validation. They are of the runs in out/: a run keeps metrics.jsonl in its folder, and results/ "
    "has no copy of it. To see more, train a row, as by bash run.sh, and make this report again by bash site.sh."
)
ATTENTION = (
    "The mean attention between two nodes by their distance, layer by layer. To see that of a trained Transformer, call "
    "python -m tools.attention out/DATASET/ROW/seed_S/fold_F, which writes attention.json there, and make this report again by "
    "bash site.sh."
)
FIRST = ("row", "agrees", "runs", "seeds")  # columns that stand before the others
WIDTH = 9  # of pictures, in inches: what is 8 points high is then as high as the text of the tables


def slug(name):
    """A name as a file name and as an anchor."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in name)


class Site:
    """The pages, {path: text}; `page` fills a template."""

    def __init__(self, results, cards=None, curves=None, attention=None):
        from jinja2 import Environment, FileSystemLoader

        self.results, self.cards, self.curves, self.attention = results, cards, curves or {}, attention or {}
        self.templates = Environment(
            loader=FileSystemLoader(SITE), autoescape=True, trim_blocks=True, keep_trailing_newline=True
        )
        self.pages = {name: (SITE / name).read_text() for name in ("style.css", "tables.js")}
        self.pages["style.css"] += code_style()
        self.made = [made for paper in PAPERS for t in paper.tables for made in tables_made(paper, t, results)]

    def page(self, path, template, title, **values):
        root = "../" * path.count("/")
        text = self.templates.get_template(template).render(
            title=clean(title),
            root=root,
            menu=MENU,
            n_results=len(self.results),
            **values,
        )
        self.pages[path] = text

    def everything(self):
        self.overview()
        for paper in PAPERS:
            self.deviations(paper)
        self.page("brec.html", "document.html", "BREC", html=as_html((ROOT / "docs" / "brec.md").read_text()))
        for made in self.made:
            self.table(made)
        self.models()
        self.datasets()
        self.learning_curves()
        self.attention_by_distance()
        return self.pages

    # ----------------------------------------------------------------------------------------------------------------
    # Tables

    def overview(self):
        papers = []
        for paper in PAPERS:
            own = [made for made in self.made if made.paper is paper]
            tables = [summary_of(made) for made in own]
            total = counts(own)
            several = total["rows"] < sum(t["rows"] for t in tables)
            link = f"deviations/{paper.name}.html" if deviations_file(paper).exists() else None
            drawn = [
                {"title": p.title, "svg": as_svg(partial(p.draw, self.results), p.size, p.title)}
                for p in paper.pictures
            ]
            papers.append({"name": paper.name, "title": paper.title, "tables": tables, "total": total, "deviations": link,
                           "pictures": drawn, "several": several})  # fmt: skip
        total = {key: sum(paper["total"][key] for paper in papers) for key in STATE}
        self.page(
            "index.html",
            "index.html",
            "GNN benchmarks: five papers, our own runs",
            papers=papers,
            total=total,
            state=STATE,
            rule=Agrees.rule,
        )

    def table(self, made):
        view, file = made.view, find_table(made.table.name)
        columns = [c for c in view.columns() if view.compared or "Δ" not in c.header]
        columns, judge = sorted(columns, key=place_of), judge_of(made)
        headers = [column.header for column in columns]
        cells = list(zip(*(column.cells for column in columns), strict=True))
        lines = [row_of(line, columns, row, judge, view) for line, row in zip(view.lines, cells, strict=True)]
        differing, beside = [], {}
        for line, row in zip(view.lines, cells, strict=True):
            if found := differences(line, judge, view):
                why = None if judge.word(line) else why_not_judged(made, line)
                n_runs = next(
                    cell.text for header, cell in zip(headers, row, strict=True) if header in ("runs", "seeds")
                )
                entry = {"name": line.name, "found": found, "runs": n_runs, "reasons": reasons(made, line)}
                (beside.setdefault(why, []) if why else differing).append(entry)
        self.page(
            path_of(made),
            "table.html",
            view.title,
            name=made.table.name,
            paper=made.paper.title,
            command=command_of(made),
            dataset=made.dataset,
            main=file.main,
            begun=made.begun,
            headers=headers,
            lines=lines,
            filters=[(key, sorted({line[key] for line in lines} - {""})) for key in ("model", "dataset", "ours")],
            differing=differing,
            beside=beside,
            notes=[note.replace("**:", "Bold:").replace("; *:", "; italic:") for note in view.notes(columns)],
            judged=any(line["verdict"] in ("yes", "no") for line in lines),
            deviations=f"../deviations/{made.paper.name}.html",
            pictures=pictures_of(made),
            seeds=", ".join(map(str, file.seeds)),
            folds=f"{file.folds} fold{'s' * (file.folds > 1)} per seed",
            file=file.path.relative_to(ROOT),
            rows=[self.configuration_of(row, made.dataset) for row in file.rows.values()],
        )

    def deviations(self, paper):
        path = deviations_file(paper)
        if path.exists():
            title, text = f"{paper.title}: where this project differs", path.read_text()
            html = as_html(text, {"../brec.md": "../brec.html"})
            content = {"entries": entries_of(text), "scores": self.entries_of_scores(paper)}
            self.page(f"deviations/{paper.name}.html", "document.html", title, html=html, **content)

    def entries_of_scores(self, paper):
        """{(anchor, title) of an entry that speaks of a row whose scores are not the paper's: {page: table}}"""
        found = {}
        for made in self.made:
            lines = made.view.lines if made.paper is paper else ()
            for line in (line for line in lines if differences(line, judge_of(made), made.view)):
                for reason in reasons(made, line):
                    found.setdefault((reason["anchor"], reason["title"]), {})[path_of(made)] = made.table.label
        return found

    def configuration_of(self, row, dataset):
        """A row of the table file, with links to the pages of its model and of its dataset, and to its learning curves."""
        model, own = row.config.get("net", {}).get("model"), row.config.get("dataset")
        known = [("models", model)] * (model in models()) + [("datasets", own)] * bool(own)
        links = [{"page": f"../{folder}/{slug(name)}.html", "name": name} for folder, name in known]
        folders = {name.rsplit("/", 2)[0] for name in self.curves}
        ending = f"-{row.id({'dataset': dataset} if dataset else {})}"
        links += [
            {"page": f"../curves.html#{slug(f)}", "name": "learning curves"} for f in folders if f.endswith(ending)
        ]
        return {"id": slug(row.key), "name": row.key, "config": json.dumps(row.config, indent=1), "links": links}

    # ----------------------------------------------------------------------------------------------------------------
    # Models and datasets

    def models(self):
        lines, items = lines_by_model(self.made), []
        for name, model in models().items():
            files = [model.path, *dict.fromkeys(layer.path for layer in model.layers)]
            self.page(
                f"models/{slug(name)}.html",
                "model.html",
                name,
                summary="" if model.summary in model.description else model.summary,
                description=model.description,
                layers=model.layers,
                tables=lines.get(name, {}),
                files=[{"path": path, "code": highlighted((ROOT / path).read_text())} for path in files],
            )
            items.append({"page": f"{slug(name)}.html", "name": name, "text": model.summary})
        text = "Every model with its equations, its code, and all of its rows, paper beside ours."
        self.page("models/index.html", "list.html", "Models", text=text, items=items)

    def datasets(self):
        used, items = tables_by_dataset(self.made), []
        cards = read_cards(self.cards) if self.cards else {}
        for name in sorted({*used, *cards}, key=lambda name: (name not in used, name.lower())):
            card, picture = cards.get(name, {"text": "", "whole": False, "picture": None}), None
            if card["picture"]:
                picture = f"{slug(name)}{Path(card['picture']).suffix}"
                self.pages[f"datasets/{picture}"] = (self.cards / card["picture"]).read_bytes()
            content = {"card": card["text"], "whole": card["whole"], "picture": picture, "tables": used.get(name, []),
                       "stands_for": STAND_INS.get(name)}  # fmt: skip
            self.page(f"datasets/{slug(name)}.html", "dataset.html", name, **content)
            n = len(used.get(name, []))
            text = f"in {n or 'no'} table{'s' * (n > 1)}" + ", with a picture" * bool(picture)
            items.append({"page": f"{slug(name)}.html", "name": name, "text": text})
        text = (
            "Every dataset of the tables, then others. Counts are there of those that have results of ours and were at hand when "
            "this report was made, pictures also of those of which a few graphs can be made: GNN_DATA=FOLDER bash site.sh NAME ... "
            "adds those named."
        )
        self.page("datasets/index.html", "list.html", "Datasets", text=text, items=items)

    def learning_curves(self):
        groups = {}
        for name, curve in self.curves.items():
            row, seed, fold = name.rsplit("/", 2)
            groups.setdefault(row, {})[f"{seed}, {fold}".replace("_", " ")] = curve
        html = []
        for name, group in sorted(groups.items()):
            size = (WIDTH, height_of(by_metric(group)))
            svg = as_svg(lambda figure, group=group: draw_curves(figure, group), size, f"learning curves of {name}")
            html.append({"id": slug(name), "title": name, "svg": svg})
        self.page("curves.html", "curves.html", "Learning curves", text=CURVES, pictures=html)

    def attention_by_distance(self):
        html = []
        for folder, content in self.attention.items():
            title = named(folder, content)
            svg = as_svg(partial(draw_attention, content=content), (WIDTH, 3), f"attention of {title}")
            html.append({"id": slug(title), "title": title, "svg": svg})
        self.page("attention.html", "curves.html", "Attention by distance", text=ATTENTION, pictures=html)


def path_of(made):
    return made.paper.name + "/" + slug(made.page.split("/")[1].removesuffix(".md")) + ".html"


def deviations_file(paper):
    return ROOT / "docs" / "deviations" / f"{paper.name}.md"


def summary_of(made):
    """A line of the overview."""
    title = f"{made.table.label}: {made.table.title}"
    title += f", {made.table.variant}" if made.table.variant else ""
    title += f", ours on {made.dataset}" if made.dataset else ""
    return counts([made]) | {"page": path_of(made), "title": title}


def model_of(line):
    """The model of a line; of a line that pools several, or of a method without a net, what it is called."""
    names = {row.config.get("net", {}).get("model") or row.config.get("method", "") for row in line.rows}
    return names.pop() if len(names) == 1 else ""


def place_of(column):
    """The verdict and the number of runs stand beside the row's name; all others as the paper has them."""
    return FIRST.index(column.header) if column.header in FIRST else len(FIRST)


def differences(line, judge, view):
    """{header: (ours, paper)} of the scores that differ; of a line that is not judged, of those that are not the same text."""
    if word := judge.word(line):
        return judge.differing(line) if word.startswith("no") else {}
    beside = [column for column in view.declared if isinstance(column, Beside) and column not in COSTS]
    found = {column.header: (column.cell(line).text, column.paper(line).text) for column in beside}
    return {header: texts for header, texts in found.items() if "-" not in texts and len({*texts}) > 1}


def why_not_judged(made, line):
    if made.table.variant:
        return f"ours are runs with the {made.table.variant}"
    if not made.view.compared:
        return f"ours are on {made.dataset}, not on the paper's data"
    if not line.results:
        return "only a part of the pairs was run"
    return "no rule judges them" if line.is_complete else "not all of the runs are there"


def row_of(line, columns, cells, judge, view):
    """A row of the page: cells with what they are sorted by; scores that differ from the paper's are marked."""
    word, differing = judge.word(line), differences(line, judge, view)
    verdict = "yes" if word == "yes" else "no" if word else "open" if differing else ""
    wrong = {f"{header}, {view.ours}" for header in differing}
    shown = []
    for column, cell in zip(columns, cells, strict=True):
        link = None
        if column.header == "row" and line.rows:
            link = f"#config-{slug(line.rows[0].key)}" if len(line.rows) == 1 else "#configurations"
        kind = "verdict" if column.header == "agrees" else verdict if column.header in wrong else None
        shown.append(
            {"text": clean(cell.text), "mark": cell.mark, "value": order_of(cell), "link": link, "class": kind}
        )
    return {
        "cells": shown,
        "verdict": verdict,
        "model": model_of(line),
        "dataset": line.dataset or "",
        "ours": state_of(line, word),
    }


def order_of(cell):
    """What a cell is sorted by, in JavaScript's words, as Infinity; None: by its text."""
    return next((json.dumps(number) for value in cell.values if (number := number_of(value)) is not None), None)


def number_of(value):
    """A number, also of a text as 508k; else None."""
    if isinstance(value, int | float):
        return value
    found = re.fullmatch(r"(\d+\.?\d*)([kM]?)", str(value).replace("K", "k"))
    return float(found[1]) * {"": 1, "k": 1e3, "M": 1e6}[found[2]] if found else None


def state_of(line, word):
    """What the filter of a table asks for."""
    if not line.results and not line.parts:
        return "no runs"
    return "agrees" if word == "yes" else "differs" if word.startswith("no") else "not judged"


def reasons(made, line):
    """The deviations that speak of a line, on its dataset or on a category of its pairs."""
    path, name, dataset = deviations_file(made.paper), short_name(line), made.dataset or str(line.dataset)
    places = {dataset, dataset.removeprefix("TU/"), *line.printed}
    entries = entries_of(path.read_text()) if path.exists() else []
    return [
        {"anchor": entry.anchor, "title": entry.title, "here": entry.part("Here"), "why": entry.part("Why")}
        for entry in entries
        if any(
            entry.speaks_of(subject, places) for subject in (name, line.name.partition("+")[2]) if subject
        )  # or a perturbation
    ]


def pictures_of(made):
    """Scores of paper and ours, and scores against cost, where there are results; a table may have a picture of its own."""
    view, drawn = made.view, []
    if made.table.picture:
        picture = made.table.picture
        drawn.append((picture.title, partial(picture.draw, view), picture.size, ""))
    elif any(isinstance(column, Score) for column in view.declared):
        points = table_points(view, made.dataset)
        if points:
            title = f"Test score, {' and '.join(sides(points))}"
            drawn.append((title, lambda figure: draw_table(figure, points), (WIDTH, 1 + 0.25 * len(points)), DOTS))
        if ours := compared_by_cost(points):
            size = (WIDTH, height_of(by_panel(ours)))
            drawn.append(("Test score against cost", lambda figure: draw_cost(figure, ours), size, about_costs(ours)))
    return [
        {"title": title, "svg": as_svg(draw, size, f"{made.table.name}: {title}"), "text": text}
        for title, draw, size, text in drawn
    ]


DOTS = "A bar is ± 1 s.d. over runs. Without a bar: a single run, equal runs, or a paper that prints no s.d."


def about_costs(points):
    text = "Times are those of the machine that made the runs; in results/, one core of a shared one."
    missing = ", ".join(dict.fromkeys(point.row for point in points if point.params is None))
    drawn = missing and any(point.params is not None for point in points)
    return f"{text} Without a count of parameters, or with several: {missing}." if drawn else text


def lines_by_model(tables):
    """{model: {title of a paper: its lines in the tables of the paper}}"""
    found = {}
    for made in tables:
        judge, main = judge_of(made), main_column(made)
        for line in made.view.lines if main else ():
            word, dataset = judge.word(line), made.dataset or line.dataset
            measured = main.measure.name + main.measure.unit if isinstance(main, Score) else "pairs told apart"
            cells = [Cell(word), runs(line), Cell(measured), Parameters().both(line), main.paper(line), main.cell(line)]
            of_model = found.setdefault(model_of(line), {})
            of_model.setdefault(made.paper.title, []).append(
                {
                    "page": path_of(made),
                    "name": f"{made.table.name}/{line.name}",
                    "dataset": {"page": f"datasets/{slug(dataset)}.html", "name": dataset} if dataset else None,
                    "cells": [{"text": clean(cell.text), "value": order_of(cell)} for cell in cells],
                    "verdict": "yes" if word == "yes" else "no" if word else "",
                }
            )
    return found


def main_column(made):
    """The column that a model's page shows: the test score, or the total of counts; None of a table that has no such thing."""
    beside = [column for column in made.view.declared if isinstance(column, Beside)]
    wanted = [c for c in beside if (isinstance(c, Score) and c.split == "test") or c.header == "Total"]
    return next(iter(wanted or beside), None)


def tables_by_dataset(tables):
    found = {}
    for made in tables:
        names = {line.dataset for line in made.view.lines if line.dataset} | ({made.dataset} - {None})
        for name in sorted(names):
            found.setdefault(name, []).append({"page": path_of(made), "title": made.view.title})
    return found


def read_cards(folder):
    """{dataset: {"text", "whole", "picture"}} as tools.cards wrote them."""
    found = {}
    for path in sorted(folder.glob("*.json")):
        try:
            card = json.loads(path.read_text())
            found[card["name"]] = {"text": str(card["text"]), "whole": bool(card["whole"]), "picture": card["picture"]}
        except (OSError, ValueError, LookupError, TypeError) as error:
            report([f"{path}: not a card ({error!r})"])
    return found


def read_attentions(folders):
    """{folder of a run: what tools.attention wrote there}"""
    found = {}
    for folder in map(Path, folders):
        for path in sorted(folder.rglob("attention.json")):
            try:
                if not any(map(set_aside, path.relative_to(folder).parts)):
                    found[path.parent] = read_attention(path.parent)
            except SystemExit as error:  # a damaged file takes no page with it
                report([str(error)])
    return found


def write(pages, out):
    """Put the pages at `out`: into a folder beside it first, then renamed, so that nobody sees half a site."""
    out = Path(out).resolve()
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / STAMP).exists())):
        raise SystemExit(f"--out {out}: it is there and was not made by this program: remove it or name another folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as folder:
        new = Path(folder) / "site"
        for path, content in {**pages, STAMP: "replaced by the next call\n"}.items():
            target = new / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        if out.exists():
            os.replace(out, Path(folder) / "old")
        os.replace(new, out)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tables.report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=existing_folder, help="results, and folders of runs of yours")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where the pages go")
    parser.add_argument("--cards", type=existing_folder, metavar="FOLDER", help="what python -m tools.cards wrote")
    arguments = parser.parse_args(argv)
    try:
        import jinja2  # noqa: F401 - optional
    except ImportError:
        raise SystemExit("the report needs requirements-site.txt: run bash site.sh") from None
    results, problems = read_results(arguments.folders)
    report(problems)
    with_curves = [folder for folder in arguments.folders if next(Path(folder).rglob("metrics.jsonl"), None)]
    curves = read_curves(with_curves) if with_curves else {}
    site = Site(results, arguments.cards, curves, read_attentions(arguments.folders))
    pages = site.everything()
    write(pages, arguments.out)
    print(f"{len(pages)} files: open {arguments.out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
