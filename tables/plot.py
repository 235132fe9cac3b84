"""Pictures of results: learning curves, a table as dots with error bars (paper and ours), accuracy against cost.

python -m train.plot curves FOLDER ... --save curves.png     of runs: folders that hold metrics.jsonl, at any depth
python -m train.plot table table3 --save table3.svg          test metric of each row, paper and ours
python -m train.plot cost table3 --save cost.png             test metric against seconds an epoch and parameters
"""

import argparse
import io
import json
import sys
from pathlib import Path
from statistics import fmean, pstdev
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter
from train.files import RunError, write_atomic
from train.naming import run_name
from train.result_files import add_folders, read_results, report
from train.table import config_files, number_pair, ours, printed_lines, results_of, scores

MARKERS = "osD^"  # one for each ten colours


def read_curves(folders):
    """{run: [line of metrics.jsonl, ...]} of all runs below the folders."""
    runs = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("metrics.jsonl")):
            if any(part.startswith("replaced-") for part in path.parts):
                continue
            lines = path.read_text().splitlines(keepends=True)
            if whole := [json.loads(line) for line in lines if line.endswith("\n")]:  # the last may be being written
                name = "/".join(path.parent.parts[-3:])
                runs[f"{folder}: {name}" if name in runs else name] = whole
    if not runs:
        raise SystemExit(
            f"{', '.join(map(str, folders))}: no metrics.jsonl with an epoch there; runs keep it in out/DATASET/ROW/seed_S/fold_F"
        )
    return runs


def draw_curves(figure, runs):
    loss, metric = figure.subplots(1, 2)
    for k, (name, lines) in enumerate(runs.items()):
        measured = next(key for key in lines[0]["val"] if key != "loss")
        epochs, colour = [line["epoch"] for line in lines], f"C{k % 10}"
        for axes, key in ((loss, "loss"), (metric, measured)):
            axes.plot(epochs, [line["train"][key] for line in lines], color=colour, linestyle=":")
            axes.plot(epochs, [line["val"][key] for line in lines], color=colour, label=name)
            axes.set(xlabel="epoch", ylabel=key)
    loss.set_title("dotted: training, solid: validation", fontsize=8)
    if len(runs) <= 12:
        metric.legend(fontsize=6)


class Point(NamedTuple):
    """A row of a table: paper and ours are (mean, s.d.) of the test metric, or a text in their place: OOM, Diverged, nothing."""

    row: str
    dataset: str
    metric: str
    paper: tuple | str
    ours: tuple | str
    seconds: float | None  # an epoch
    params: int | None


def table_points(name, folders, dataset=None):
    """The points of a table, in its order."""
    results, problems = read_results(folders)
    report(problems)
    files, suffix = config_files(), run_name("", {"dataset": dataset} if dataset else {})
    points = []
    for line in printed_lines(name):
        found = results_of(line, results, files, suffix)
        values = scores(found, "test")
        # not of runs that ended before their first epoch, or had nothing to learn
        times = [r["epoch_time_s"] for r in found if r["epoch_time_s"]]
        points.append(
            Point(
                # T6-ENZYMES-GCN-L4-seed1 -> GCN-L4-seed1: table and dataset stand in the titles
                line["row_id"].split("-", 2)[2],
                line["dataset"] + (f" (ours: {dataset})" if dataset else ""),
                line["metric"],
                number_pair(line) or line["status"],
                (fmean(values), pstdev(values)) if values else ours(found, values) if found else "",
                fmean(times) if times else None,
                found[0]["params"] if found else None,
            )
        )
    return points


def by_dataset(points):
    """{dataset: its points}: numbers of different datasets do not belong on one axis."""
    groups = {}
    for point in points:
        groups.setdefault(point.dataset, []).append(point)
    return groups


def draw_table(figure, points):
    groups = by_dataset(points)
    heights = [len(group) + 1 for group in groups.values()]
    panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights)[:, 0]
    series = (("paper", "0.5", 0.15), ("ours", "C0", -0.15))
    for axes, (dataset, group) in zip(panels, groups.items(), strict=True):
        for k, point in enumerate(group):
            for name, colour, shift in series:
                value = getattr(point, name)
                if isinstance(value, str):
                    left = axes.get_yaxis_transform()  # x from the left edge, y in rows
                    axes.text(0.01, -k + shift, value, transform=left, color=colour, fontsize=7, va="center")
                else:
                    mean, sd = value
                    axes.errorbar(mean, -k + shift, xerr=sd, fmt="o", color=colour, capsize=2, markersize=4)
        axes.set_yticks([-k for k in range(len(group))], [point.row for point in group], fontsize=7)
        axes.set_ylim(-len(group) + 0.4, 0.6)
        axes.set_title(f"{dataset}, test {group[0].metric}", fontsize=9, loc="left")
        axes.grid(axis="x", color="0.9")
        axes.set_axisbelow(True)
    handles = [Line2D([], [], color=colour, marker="o", markersize=4, label=name) for name, colour, _ in series]
    figure.legend(handles=handles, loc="outside upper right", ncols=2, fontsize=8)


def draw_cost(figure, points):
    groups = by_dataset(points)
    panels = figure.subplots(len(groups), 2, squeeze=False)
    for places, (dataset, group) in zip(panels, groups.items(), strict=True):
        for k, point in enumerate(group):
            style = {"color": f"C{k % 10}", "fmt": MARKERS[k // 10 % len(MARKERS)], "markersize": 5, "capsize": 2}
            for axes, cost in zip(places, (point.seconds, point.params), strict=True):
                if cost is not None:
                    axes.errorbar(cost, point.ours[0], yerr=point.ours[1], label=point.row, **style)
        for axes, name in zip(places, ("seconds an epoch", "parameters"), strict=True):
            axes.set(xlabel=name, ylabel=f"{dataset}, test {group[0].metric}")
            low, high = axes.dataLim.intervalx
            if 0 < 4 * low < high:  # a heuristic has no parameters
                axes.set_xscale("log")
                axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.xaxis.set_minor_formatter(NullFormatter())
            axes.xaxis.set_major_formatter(EngFormatter(sep="") if name == "parameters" else "{x:g}")
            axes.grid(color="0.9")
            axes.set_axisbelow(True)
        places[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=7)


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m train.plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=("curves", "table", "cost"))
    parser.add_argument("what", nargs="+", help="folders of runs, or the name of a table")
    parser.add_argument("--save", type=Path, required=True, metavar="FILE", help="FILE.png or FILE.svg")
    parser.add_argument("--dataset", help="results of the same rows on another dataset, as ZINC-redrawn")
    add_folders(parser)
    arguments = parser.parse_args(argv)
    if arguments.save.suffix not in (".png", ".svg"):
        parser.error(f"--save {arguments.save}: expected a file ending in .png or .svg")

    if arguments.kind == "curves":
        if arguments.dataset or arguments.out_dir != parser.get_default("out_dir"):
            parser.error("curves: --dataset and --out_dir are of tables; name the folders of the runs themselves")
        figure = Figure(figsize=(10, 4), layout="constrained")
        draw_curves(figure, read_curves(arguments.what))
    else:
        if len(arguments.what) > 1:
            parser.error(f"{' '.join(arguments.what)}: one table a picture")
        points = table_points(arguments.what[0], arguments.out_dir, arguments.dataset)
        if arguments.kind == "table":
            figure = Figure(figsize=(10, 1.5 + 0.3 * len(points)), layout="constrained")
            draw_table(figure, points)
        else:
            points = [point for point in points if isinstance(point.ours, tuple)]
            if not points:
                folders = ", ".join(map(str, arguments.out_dir))
                raise SystemExit(f"{arguments.what[0]}: there is no result of it in {folders}")
            figure = Figure(figsize=(11, 4 * len(by_dataset(points))), layout="constrained")
            draw_cost(figure, points)
    picture = io.BytesIO()
    figure.savefig(picture, format=arguments.save.suffix[1:], dpi=150)
    try:
        write_atomic(arguments.save, picture.getvalue())
    except RunError as error:
        raise SystemExit(str(error)) from None
    print(f"drawn: {arguments.save}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
