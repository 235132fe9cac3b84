"""What datasets measure, from results alone: the figures of the Taxonomy of Benchmarks, and the place of a dataset of yours.

    python -m tables.taxonomy figure4                     ratios to the score without perturbation, and clusters; figure5, figureB1
    python -m tables.taxonomy figure3 --save figure3.png  principal components; --save draws any of the figures
    python -m tables.taxonomy correlations                of models and of perturbations
    python -m tables.taxonomy figure4 --published         of the paper's scores alone; --out_dir results: of the project's runs
    python -m tables.taxonomy --dataset MINE              a dataset of yours: its profile, its nearest datasets, its cluster

Ratios are per cents of the AUROC of the dataset as it is, ours first, the paper's in brackets. A cell is missing, -, until all of
its runs are there; datasets with missing cells are in no cluster. The runs for a dataset of yours, of many graphs:

    DATASET=MINE bash script_reproduce/taxonomy/figure4.sh Small-world Small-world+{NoNodeFtrs,NodeDeg,LowPass,MidPass,HighPass,\\
    NoEdges,FullyConn,Frag-k1,Frag-k2,Frag-k3,FiedlerFrag}      (of one graph: figure5.sh and Actor in the place of Small-world)
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from runs.collect import add_folders, by_id, read_results, report
from runs.errors import nearest
from runs.identity import hash_of, identity
from runs.naming import changed_keys
from runs.signals import end_with_pipe
from runs.table_files import find_table, with_changes
from tables import profiles
from tables.columns import EMPTY, Cell, Column
from tables.declare import Line
from tables.formats import FORMATS

TITLES = {
    "figure3": "Figure 3 of the Taxonomy of Benchmarks: principal components of the profiles",
    "figure4": "Figure 4 of the Taxonomy of Benchmarks: many graphs, GCN",
    "figure5": "Figure 5 of the Taxonomy of Benchmarks: one graph, GCN",
    "figureB1": "Figure B.1 of the Taxonomy of Benchmarks: many graphs, GIN",
    "correlations": "Correlations of scores",
}
PARTS = {"a": "figure4", "b": "figure5"}  # of Figure 3
NEAREST = 5


def per_cent(value):
    return f"{100 * value:.0f}" if np.isfinite(value) else "-"


def number(value, digits):
    return Cell(f"{value:.{digits}f}", (round(float(value), 6),)) if np.isfinite(value) else EMPTY


def both(ours, paper, text):
    """A cell with ours and, in brackets, the paper's; of one of them alone if the other is None."""
    values = ["" if v is None or not np.isfinite(v) else round(float(v), 6) for v in (ours, paper) if v is not None]
    if ours is None or paper is None:
        return Cell(text(paper if ours is None else ours), tuple(values))
    return Cell(f"{text(ours)} ({text(paper)})", tuple(values))


# --------------------------------------------------------------------------------------------------------------------
# Figures 4, 5 and B.1: profiles and clusters


def profile_columns(figure, scores, paper):
    """The table of a figure. `scores` are ours, or None; those of the paper stand beside them."""
    shown = paper if scores is None else scores.begun()
    known, found = profiles.clusters_of_paper(figure), profiles.clusters(shown, figure)
    order = [shown.names[k] for k in in_order(shown)]
    fields = ("paper",) if scores is None else ("ours", "paper")

    def column(header, value, text):
        cells = [both(None if scores is None else value(shown, n), value(paper, n), text) for n in order]
        return Column(header, cells, fields)

    def original(of, name):
        return of.original[of.names.index(name)]

    def ratio(k):
        return lambda of, name: of.ratios[of.names.index(name), k]

    return [
        Column("dataset", [Cell(n, (n,)) for n in order]),
        Column("cluster", [Cell(found.get(n, "-")) for n in order]),
        Column("cluster, paper", [Cell(known.get(n, "-")) for n in order]),
        column("AUROC", original, lambda v: f"{v:.3f}" if np.isfinite(v) else "-"),
        *(column(name, ratio(k), per_cent) for k, name in enumerate(shown.columns)),
    ]


def in_order(scores):
    """The rows as the tree has them, then those that are not in it."""
    whole = np.flatnonzero(scores.is_complete)
    return [*whole[profiles.order_of(scores.profiles[whole])], *np.flatnonzero(~scores.is_complete)]


def profile_notes(figure, scores, paper):
    """What follows from the profiles, line by line."""
    shown = paper if scores is None else scores.begun()
    whole, notes = shown.complete(), []
    if missing := [
        f"{name} ({np.isfinite(row).sum()} of {len(row)} columns)"
        for name, row in zip(shown.names, shown.profiles, strict=True)
        if not np.isfinite(row).all()
    ]:
        notes.append(f"In no cluster, as cells are missing: {', '.join(missing)}.")
    if len(whole.names) < profiles.FEWEST:
        notes.append(
            f"Datasets with all columns: {len(whole.names)}; components need three, clusters {profiles.FEWEST}."
        )
    else:
        known, found = profiles.clusters_of_paper(figure), profiles.clusters(shown, figure)
        same = sum(found[name] == known[name] for name in whole.names)
        notes.append(f"In the cluster of the paper: {same} of {len(whole.names)} datasets.")
    if len(whole.names) >= 3:
        explained = profiles.principal_components(whole.profiles).explained
        text = ", ".join(f"PC{k} {value:.1f} %" for k, value in enumerate(explained, 1))
        part = {name: part for part, name in PARTS.items()}.get(figure)
        printed = [profiles.printed_numbers()[f"Figure 3{part}", f"PC{k}"][0] for k in (1, 2)] if part else []
        text += f" (paper: {', '.join(f'{value} %' for value in printed)})" if printed else ""
        notes.append(f"Explained variance: {text}.")
        notes.append(f"Permutation test: p = {profiles.permutation_p(whole.profiles):.3f}.")
    return notes + (text_notes(shown) if figure == "figure5" else [])


def text_notes(scores):
    """The three numbers of appendix B.2, paper beside ours."""
    notes = []
    for what, (value, sd) in profiles.text_numbers(scores).items():
        paper, paper_sd = profiles.printed_numbers()["B.2", what.partition(" (")[0]]
        ours = f"{value:.0f} %" + (f" ± {sd:.1f} %" if sd is not None else "")
        notes.append(f"{what}: {ours} (paper: {paper:.0f} %" + (f" ± {paper_sd} %)." if paper_sd else ")."))
    return notes


# --------------------------------------------------------------------------------------------------------------------
# Figure 3, correlations


def component_columns(sources):
    """The loadings; `sources` is {"ours": {figure: scores}, "paper": ...}."""
    names, rows = profiles.published("figure4").columns, []
    for part, figure in PARTS.items():
        for source, scores in sources.items():
            whole = scores[figure].complete()
            if len(whole.names) < 3:
                continue
            found = profiles.principal_components(whole.profiles)
            for k, (loadings, explained) in enumerate(zip(found.loadings, found.explained, strict=True), 1):
                printed = profiles.printed_numbers()[f"Figure 3{part}", f"PC{k}"][0]
                cells = dict(zip(whole.columns, loadings, strict=True))
                rows.append(
                    [
                        *(Cell(text, (text,)) for text in (part, source, str(len(whole.names)), f"PC{k}")),
                        *(number(value, 1) for value in (explained, printed)),
                        *(number(cells.get(name, np.nan), 2) for name in names),
                    ]
                )
    headers = ("part", "scores of", "datasets", "component", "explained, %", "printed, %", *names)
    return [Column(header, [row[k] for row in rows]) for k, header in enumerate(headers)]


def component_notes(sources):
    return [
        f"{source}, part {part}: {len(scores[figure].complete().names)} datasets have all columns, three are needed."
        for source, scores in sources.items()
        for part, figure in PARTS.items()
        if len(scores[figure].complete().names) < 3
    ]


def correlation_columns(sources):
    """GCN and GIN on many graphs, then pairs of perturbations."""
    rows = []
    for source, scores in sources.items():
        n, *values = profiles.model_correlation(scores["figure4"], scores["figureB1"])
        rows.append([source, "GCN and GIN, log2 AUROC", n, *values])
        for figure in PARTS.values():
            whole = scores[figure].complete()
            if len(whole.names) < 3:
                continue
            matrix = profiles.perturbation_correlation(whole.profiles)
            for i, j in zip(*np.triu_indices(len(matrix), 1), strict=True):
                pair = f"{whole.columns[i]} and {whole.columns[j]}, {TITLES[figure].split(': ')[1]}"
                rows.append([source, pair, len(whole.names), matrix[i, j], None, None])
    columns = [
        Column(header, [Cell(str(row[k]), (row[k],)) for row in rows])
        for k, header in enumerate(("scores of", "what", "cells"))
    ]
    for k, header in enumerate(("Pearson", "Spearman", "Kendall"), 3):
        columns.append(Column(header, [EMPTY if row[k] is None else number(row[k], 3) for row in rows]))
    return columns


# --------------------------------------------------------------------------------------------------------------------
# A dataset of yours


def runs_of(dataset, figure, results):
    """{"": Line, "NoEdges": Line, ...}: the runs of a dataset, as it is and perturbed; empty if it was not run as it is.

    What a perturbed row of the figure's table file changes is changed here; other keys may be any, if they are the same for all
    columns.
    """
    rows = find_table(f"taxonomy_{figure}").rows
    first = next(iter(rows))
    model, groups = rows[first].config["net"]["model"], by_id(results)
    as_it_is = [
        group
        for group in groups.values()
        if group[0]["config"].get("dataset") in (dataset, f"TU/{dataset}")
        and group[0]["config"].get("net", {}).get("model") == model
        and not group[0]["config"].get("data", {}).get("transforms")
    ]
    found = {}
    for base in sorted(as_it_is, key=len, reverse=True):
        lines = {"": Line(dataset, dataset, results=base)}
        for name, row in rows.items():
            if name.startswith(f"{first}+"):
                changed = with_changes(base[0]["config"], changed_keys(rows[first].config, row.config))
                column = name.partition("+")[2]
                lines[column] = Line(column, dataset, results=groups.get(hash_of(identity(changed)), []))
        if sum(bool(line.results) for line in lines.values()) > sum(bool(line.results) for line in found.values()):
            found = lines
    return found


def scores_of(dataset, figure, results):
    """The scores of one dataset: a cell is there if it has the seeds and folds of the dataset as it is."""
    lines = runs_of(dataset, figure, results)
    asked = {(r["seed"], r["fold"]) for r in lines[""].done} if lines else set()
    named = {f"{dataset}+{column}" if column else dataset: line for column, line in lines.items()}
    return profiles.of_lines(named, lambda line: asked and asked <= {(r["seed"], r["fold"]) for r in line.done})


def find_scores(dataset, results, figures):
    """(figure, scores): of several figures the one with most cells."""
    found = [(figure, scores_of(dataset, figure, results)) for figure in figures]
    figure, scores = max(found, key=lambda pair: np.isfinite(pair[1].profiles).sum())
    if not np.isfinite(scores.profiles).any():
        models = ("TaxonomyGCN", "TaxonomyGIN")
        there = {r["config"]["dataset"] for r in results if r["config"].get("net", {}).get("model") in models}
        known = f" There are {', '.join(sorted(there))}." if there else ""
        raise SystemExit(
            f"--dataset {dataset}: no runs of it, as it is and perturbed.{nearest(dataset, there)}{known} "
            "python -m tables.taxonomy --help says how they are made"
        )
    return figure, scores


class Placed:
    """A dataset among others, by the perturbations that it has."""

    def __init__(self, figure, mine, others):
        self.figure, self.name = figure, mine.names[0]
        self.has = np.isfinite(mine.profiles[0])
        self.mine, self.others = mine, others.complete()
        self.columns = [column for column, has in zip(mine.columns, self.has, strict=True) if has]
        self.profile, self.among = mine.profiles[0][self.has], self.others.profiles[:, self.has]
        self.distances = np.linalg.norm(self.among - self.profile, axis=1)
        self.clusters = profiles.clusters(self.others, figure)

    def cluster(self):
        """The one that the dataset joins at the lowest cost: Ward's, n / (n + 1) times the squared distance to the mean."""
        costs = {}
        for cluster in dict.fromkeys(self.clusters.values()):
            members = self.among[[self.clusters[name] == cluster for name in self.others.names]]
            n = len(members)
            costs[cluster] = n / (n + 1) * float(((members.mean(axis=0) - self.profile) ** 2).sum())
        return min(costs, key=costs.get)

    def columns_of_table(self, n=None):
        """The dataset, then the others by their distance; the first n of them."""
        order = np.argsort(self.distances, kind="stable")[:n]
        names = [self.name, *(self.others.names[k] for k in order)]
        ratios = np.vstack([self.mine.ratios, self.others.ratios[order]])
        return [
            Column("dataset", [Cell(name, (name,)) for name in names]),
            Column("cluster", [Cell(self.cluster()), *(Cell(self.clusters[name]) for name in names[1:])]),
            Column("distance", [EMPTY, *(number(self.distances[k], 3) for k in order)]),
            *(
                Column(name, [Cell(per_cent(v), (round(float(v), 6) if np.isfinite(v) else "",)) for v in ratios[:, k]])
                for k, name in enumerate(self.mine.columns)
            ),
        ]

    def notes(self):
        first = self.others.names[int(self.distances.argmin())]
        notes = [f"Nearest: {first}. Cluster: {self.cluster()}, which it joins at the lowest cost of Ward's method."]
        if not self.has.all():
            missing = [c for c in self.mine.columns if c not in self.columns]
            notes.append(f"Distances are of {len(self.columns)} columns; missing: {', '.join(missing)}.")
        changes = dict(zip(self.columns, self.profile, strict=True))
        worst = sorted(changes, key=changes.get)[:3]
        notes.append("Hurts most: " + ", ".join(f"{name} ({100 * 2 ** changes[name]:.0f} %)" for name in worst) + ".")
        return notes


# --------------------------------------------------------------------------------------------------------------------
# Command line


def make_parser():
    parser = argparse.ArgumentParser(
        prog="python -m tables.taxonomy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("figure", nargs="?", choices=TITLES, metavar="FIGURE", help=", ".join(TITLES))
    parser.add_argument("--dataset", metavar="MINE", help="place this dataset among those of the paper")
    parser.add_argument("--among", choices=("published", "ours"), default="published", help="the others' scores")
    parser.add_argument("--published", action="store_true", help="the paper's scores alone")
    parser.add_argument("--quick", action="store_true", help="the runs of QUICK=1")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--save", type=Path, metavar="FILE", help="also draw it: FILE.png or FILE.svg")
    add_folders(parser)
    return parser


def check(parser, arguments):
    if bool(arguments.figure) == bool(arguments.dataset) and not (
        arguments.dataset and arguments.figure in profiles.FIGURES
    ):
        parser.error("name a figure, as figure4, or a dataset: --dataset MINE")
    if arguments.dataset and (arguments.published or arguments.quick):
        parser.error("--dataset: --published and --quick are of figures")
    if arguments.save and arguments.save.suffix not in (".png", ".svg"):
        parser.error(f"--save {arguments.save}: expected a file ending in .png or .svg")
    if arguments.save and arguments.figure == "correlations":
        parser.error("--save: the correlations have no picture")


def read_sources(results, arguments):
    """{"ours": {figure: scores}, "paper": {figure: scores}}"""
    sources = (
        {}
        if arguments.published
        else {"ours": {f: profiles.ours(f, results, arguments.quick) for f in profiles.FIGURES}}
    )
    return sources | {"paper": {figure: profiles.published(figure) for figure in profiles.FIGURES}}


def made_figure(arguments, results):
    """(title, columns, notes, how it is drawn)"""
    figure, sources = arguments.figure, read_sources(results, arguments)
    if figure == "figure3":
        return component_columns(sources), component_notes(sources), lambda p, f: p.draw_components(f, sources)
    if figure == "correlations":
        return correlation_columns(sources), [], None
    ours, paper = sources.get("ours", {}).get(figure), sources["paper"][figure]
    shown = {name: scores[figure] for name, scores in sources.items()}
    return (
        profile_columns(figure, ours, paper),
        profile_notes(figure, ours, paper),
        lambda p, f: p.draw_heat_maps(f, figure, shown),
    )


def made_place(arguments, results):
    """The same of a dataset."""
    figures = (arguments.figure,) if arguments.figure else profiles.FIGURES
    figure, mine = find_scores(arguments.dataset, results, figures)
    others = profiles.published(figure) if arguments.among == "published" else profiles.ours(figure, results)
    if len(others.complete().names) < profiles.FEWEST:
        raise SystemExit(
            f"--among ours: fewer than {profiles.FEWEST} datasets of {figure} have all columns; --among published has all"
        )
    placed = Placed(figure, mine, others)
    title = f"{arguments.dataset} among the {len(placed.others.names)} datasets of {TITLES[figure]}"
    n = None if arguments.format == "csv" else NEAREST
    return title, placed.columns_of_table(n), placed.notes(), lambda p, f: p.draw_place(f, placed)


def main(argv=None):
    parser = make_parser()
    arguments = parser.parse_args(argv)
    check(parser, arguments)
    results, problems = ([], []) if arguments.published else read_results(arguments.out_dir)
    report(problems)
    if not results and not arguments.published:
        folders = ", ".join(map(str, arguments.out_dir))
        hint = "--out_dir results shows the project's own, --published the paper's"
        print(f"no results in {folders}; {hint}", file=sys.stderr)
    if arguments.dataset:
        title, columns, notes, draw = made_place(arguments, results)
    else:
        title = TITLES[arguments.figure] + ("; runs of QUICK=1, not comparable" if arguments.quick else "")
        columns, notes, draw = made_figure(arguments, results)
    print(FORMATS[arguments.format](title, columns))
    if notes and arguments.format in ("text", "markdown"):
        print("\n" + "\n".join(notes))
    if arguments.save:
        from tables import heat_maps  # matplotlib, only when it is needed

        heat_maps.save(arguments.save, lambda figure: draw(heat_maps, figure))
        print(f"drawn: {arguments.save}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    end_with_pipe()
    sys.exit(main())
