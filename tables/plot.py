"""Pictures of results: learning curves, a table as dots with error bars (paper and ours), scores against cost, attention.

    python -m tables.plot curves FOLDER ... --save curves.png     of runs: folders that hold metrics.jsonl, at any depth
    python -m tables.plot table table3 --save table3.svg          test metric of each row, paper and ours
    python -m tables.plot cost table3 --save cost.png             test metric against seconds per epoch and parameters
    python -m tables.plot cost --runs out/ESOL --save cost.png    the same of any runs of yours
    python -m tables.plot attention RUN ... --save attention.png  mean attention by distance, after python -m tools.attention RUN

Runs with different metrics get a panel each.
"""

import argparse
import io
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

from runs.collect import report, set_aside
from runs.files import RunError, write_atomic
from tables.compare import mean_and_deviation
from tables.formats import clean
from tables.table import add_what, read_view

MARKERS = "osD^"  # one per ten colours


def read_curves(folders):
    """{run: [(epoch, training, validation), ...]} of all runs below the folders."""
    runs = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("metrics.jsonl")):
            if any(map(set_aside, path.relative_to(folder).parts)):
                continue
            try:
                lines = path.read_text().splitlines(keepends=True)
                whole = [json.loads(line) for line in lines if line.endswith("\n")]  # the last may be being written
                curve = [(line["epoch"], line["train"], line["val"]) for line in whole if line["val"]]
                if curve:
                    metric_of(curve)
            except (OSError, ValueError, LookupError, TypeError) as error:
                report([f"{path}: not readable ({error!r})"])
                continue
            if curve:
                name = "/".join(path.parent.parts[-3:])
                runs[f"{folder}: {name}" if name in runs else name] = curve
    if not runs:
        raise SystemExit(
            f"{', '.join(map(str, folders))}: no metrics.jsonl with an epoch there; runs keep it in out/DATASET/ROW/seed_S/fold_F"
        )
    return runs


def metric_of(curve):
    """The metric of a run: the first that is not the loss; every epoch must have numbers of both."""
    names = [key for key in curve[0][2] if key != "loss"]
    if not all(
        isinstance(values[key], int | float) for _, *splits in curve for values in splits for key in ("loss", names[0])
    ):
        raise ValueError("not numbers")
    return names[0]


def by_metric(runs):
    """{metric: its runs}"""
    groups = {}
    for name, curve in runs.items():
        groups.setdefault(metric_of(curve), {})[name] = curve
    return groups


def draw_curves(figure, runs):
    groups = by_metric(runs)
    panels = figure.subplots(len(groups), 2, squeeze=False)
    for (loss, metric), (measured, group) in zip(panels, groups.items(), strict=True):
        for k, (name, curve) in enumerate(group.items()):
            epochs, train, val = zip(*curve, strict=True)
            colour = f"C{k}" if len(group) <= 10 else colormaps["turbo"](k / (len(group) - 1))
            for axes, key in ((loss, "loss"), (metric, measured)):
                axes.plot(epochs, [values[key] for values in train], color=colour, linestyle=":")
                axes.plot(epochs, [values[key] for values in val], color=colour, label=plain_text(name))
                axes.set(xlabel="epoch", ylabel=key)
        loss.set_title("dotted: training, solid: validation", fontsize=8)
        legend([loss, metric])


def legend(places):
    """Of what is drawn in the places of a row, above the first of them: there a phone shows it without scrolling."""
    pairs = [pair for axes in places for pair in zip(*axes.get_legend_handles_labels(), strict=True)]
    named = {label: handle for handle, label in pairs}
    if named:
        style = {
            "loc": "lower left",
            "bbox_to_anchor": (0, 1.1),
            "borderaxespad": 0,
            "fontsize": 7,
            "ncols": 3 if max(map(len, named)) < 20 else 2,
        }
        places[0].legend(named.values(), named, **style)


def height_of(groups):
    """Of a picture with a row of panels per group, in inches, with room for its legends."""
    return sum(3.2 + 0.08 * len(group) for group in groups.values())


def plain_text(text):
    """For matplotlib, which takes $ for a formula."""
    return clean(text).replace("$", r"\$")


class Point(NamedTuple):
    """A row of a table: paper and ours are (mean, s.d.) of the test metric, or a text in their place: OOM, Diverged, nothing."""

    row: str
    panel: tuple  # dataset and metric: numbers of different ones do not belong on one axis
    paper: tuple | str
    ours: tuple | str
    seconds: float | None  # per epoch
    params: int | None
    hours: float | None = None  # per seed, with all folds
    differs: bool = False  # whether ours does not agree with the paper's


def short_name(line):
    """The name of a row without its dataset."""
    return line.name.removeprefix(str(line.dataset).removeprefix("TU/")).lstrip("-, ")


def table_points(view, dataset=None):
    """The points of a table in its order, metric by metric; `dataset` is the one ours are of when that is not the paper's."""
    points = []
    for score in view.test_scores():
        for line in view.lines:
            paper, found = score.printed(line), mean_and_deviation(score.values(line))
            if not view.paper and found is None:
                continue  # a run with another metric
            # not of runs that ended before their first epoch, or had nothing to learn
            times = [r["epoch_time_s"] for r in line.results if r["epoch_time_s"]]
            hours = [r["total_time_hr"] for r in line.done if r["total_time_hr"]]
            counts = {r["params"] for r in line.results} - {None}  # several where a line pools models
            of = f"{line.dataset} (ours: {dataset})" if dataset else str(line.dataset)
            points.append(
                Point(
                    short_name(line) or "as it is",  # what is not perturbed
                    (of, f"{score.measure.name}{score.measure.unit}"),
                    (paper.mean, paper.sd or 0.0) if paper.mean is not None else paper.text.strip("-"),
                    found or score.ours(line).text.strip("-"),
                    fmean(times) if times else None,
                    counts.pop() if len(counts) == 1 else None,
                    fmean(hours) * line.folds if hours else None,
                    view.judge is not None and score.header in wrong_of(view.judge, line),
                )
            )
    filled = {point.panel for point in points if point.paper or point.ours}  # a metric that nobody has is no panel
    return [point for point in points if point.panel in filled]


def wrong_of(judge, line):
    return judge.differing(line) if judge.word(line).startswith("no") else ()


def by_panel(points):
    groups = {}
    for point in points:
        groups.setdefault(point.panel, []).append(point)
    return groups


def sides(points):
    """Of paper and ours those of which there is anything."""
    return [side for side in ("paper", "ours") if any(getattr(point, side) for point in points)]


def draw_table(figure, points):
    """Dots with bars of ± 1 s.d.; what differs from the paper is red."""
    groups = by_panel(points)
    heights = [len(group) + 1 for group in groups.values()]
    panels = figure.subplots(len(groups), 1, squeeze=False, height_ratios=heights)[:, 0]
    colours = {"paper": "0.5", "ours": "C0"}
    series = {
        side: shift if len(sides(points)) > 1 else 0.0
        for side, shift in zip(sides(points), (0.15, -0.15), strict=False)
    }
    for axes, ((dataset, metric), group) in zip(panels, groups.items(), strict=True):
        for k, point in enumerate(group):
            for side, shift in series.items():
                value, colour = getattr(point, side), "C3" if side == "ours" and point.differs else colours[side]
                if isinstance(value, str):
                    left = axes.get_yaxis_transform()  # x from the left edge, y in rows
                    axes.text(0.01, -k + shift, value, transform=left, color=colour, fontsize=8, va="center")
                else:
                    mean, sd = value
                    axes.errorbar(mean, -k + shift, xerr=sd or None, fmt="o", color=colour, capsize=2, markersize=4)
        axes.set_yticks([-k for k in range(len(group))], [plain_text(point.row) for point in group], fontsize=8)
        axes.set_ylim(-len(group) + 0.4, 0.6)
        axes.set_title(f"{dataset}, test {metric}", fontsize=9, loc="left")
        axes.grid(axis="x", color="0.5", alpha=0.25)
        axes.set_axisbelow(True)
    shown = {side: colours[side] for side in series}
    if any(point.differs for point in points):
        shown["ours, differs"] = "C3"
    handles = [Line2D([], [], color=colour, marker="o", markersize=4, label=name) for name, colour in shown.items()]
    figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=8)


COSTS = {"seconds per epoch": "seconds", "hours per seed": "hours", "parameters": "params"}


def costs_of(points):
    """The axes that a picture of these points has; hours where there are no seconds per epoch, as of a selection."""
    found = {name: key for name, key in COSTS.items() if any(getattr(point, key) is not None for point in points)}
    return {name: key for name, key in found.items() if key != "hours" or "seconds per epoch" not in found}


def compared_by_cost(points):
    """Ours with what they cost; a cost that one point of a panel has alone compares nothing."""
    compared = []
    for group in by_panel([point for point in points if isinstance(point.ours, tuple)]).values():
        alone = [key for key in COSTS.values() if sum(getattr(point, key) is not None for point in group) < 2]
        compared += [point._replace(**dict.fromkeys(alone)) for point in group]
    keys = costs_of(compared).values()
    return [point for point in compared if any(getattr(point, key) is not None for key in keys)]


def draw_cost(figure, points):
    groups, costs = by_panel(points), costs_of(points)
    panels = figure.subplots(len(groups), max(1, len(costs)), squeeze=False)
    for places, ((dataset, metric), group) in zip(panels, groups.items(), strict=True):
        for k, point in enumerate(group):
            style = {"color": f"C{k % 10}", "fmt": MARKERS[k // 10 % len(MARKERS)], "markersize": 5, "capsize": 2}
            for axes, cost in zip(places, (getattr(point, key) for key in costs.values()), strict=False):
                if cost is not None:
                    axes.errorbar(cost, point.ours[0], yerr=point.ours[1], label=plain_text(point.row), **style)
        places[0].set_title(plain_text(dataset), fontsize=9, loc="left")
        for axes, name in zip(places, costs, strict=False):
            axes.set(xlabel=name, ylabel=f"test {metric}")
            low, high = axes.dataLim.intervalx
            if 0 < 4 * low < high:  # a heuristic has no parameters
                axes.set_xscale("log")
                axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axes.xaxis.set_minor_formatter(NullFormatter())
            axes.xaxis.set_major_formatter(EngFormatter(sep="") if name == "parameters" else "{x:g}")
            axes.grid(color="0.5", alpha=0.25)
            axes.set_axisbelow(True)
            if not axes.has_data():
                axes.set_axis_off()
        legend(places)


def curves_figure(parser, arguments):
    if arguments.dataset or arguments.quick or arguments.runs or arguments.out_dir != parser.get_default("out_dir"):
        parser.error(
            "curves: --runs, --dataset, --quick and --out_dir are of tables; name the folders of the runs themselves"
        )
    runs = read_curves(arguments.what)
    figure = Figure(figsize=(12, height_of(by_metric(runs))), layout="constrained")
    draw_curves(figure, runs)
    return figure


def read_attention(folder):
    """What tools/attention.py wrote: {"layers": [[mean at distance 0, 1, …] of each layer], ...}."""
    path = Path(folder) / "attention.json"
    try:
        content = json.loads(path.read_text())
        if not all(value is None or isinstance(value, float) for layer in content["layers"] for value in layer):
            raise ValueError("not numbers")
        return content
    except FileNotFoundError:
        raise SystemExit(f"{path}: no such file: write it by python -m tools.attention {folder}") from None
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise SystemExit(
            f"{path}: not readable ({error!r}): write it again by python -m tools.attention {folder}"
        ) from None


def attention_figure(parser, arguments):
    if not arguments.what:
        parser.error("attention: name the folders of runs, out/…/seed_S/fold_F")
    runs = [(folder, read_attention(folder)) for folder in arguments.what]
    width = max(len(content["layers"]) for _, content in runs)
    figure = Figure(figsize=(4 * width, 3.4 * len(runs)), layout="constrained")
    for part, (folder, content) in zip(figure.subfigures(len(runs), 1, squeeze=False)[:, 0], runs, strict=True):
        part.suptitle(plain_text(named(folder, content)), fontsize=8)
        draw_attention(part, content, width)
    return figure


def named(folder, content):
    """What the title of a run's attention says."""
    return f"{content['dataset']}, {content['graphs']} graphs: {'/'.join(Path(folder).parts[-3:])}"


def draw_attention(figure, content, width=None):
    """A panel per layer, a bar per distance (LRGB, appendix E)."""
    panels = figure.subplots(1, width or len(content["layers"]), squeeze=False)[0]
    panels[0].set_ylabel("mean attention")
    for axes in panels[len(content["layers"]) :]:
        axes.set_axis_off()
    for i, (axes, means) in enumerate(zip(panels, content["layers"], strict=False)):
        axes.bar(range(len(means)), [mean or 0.0 for mean in means], width=0.9)
        axes.set_title(f"layer {i + 1}")
        axes.set_xlabel("distance")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def table_figure(parser, arguments):
    if len(arguments.what) > 1:
        parser.error(f"{' '.join(arguments.what)}: one table per picture")
    arguments.name = arguments.what[0] if arguments.what else None
    view = read_view(parser, arguments)
    points = table_points(view, arguments.dataset)
    if arguments.kind == "cost" or not view.paper:
        points = [point for point in points if isinstance(point.ours, tuple)]
    if not points:
        folders = ", ".join(map(str, arguments.runs or arguments.out_dir))
        raise SystemExit(f"{view.name}: there is no result of it in {folders}")
    height = 1.5 + 0.3 * len(points) if arguments.kind == "table" else height_of(by_panel(points))
    figure = Figure(figsize=(12, height), layout="constrained")
    {"table": draw_table, "cost": draw_cost}[arguments.kind](figure, points)
    return figure


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tables.plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=("curves", "table", "cost", "attention"))
    parser.add_argument("what", nargs="*", help="folders of runs, or the name of a table")
    parser.add_argument("--save", type=Path, required=True, metavar="FILE", help="FILE.png or FILE.svg")
    add_what(parser)
    arguments = parser.parse_args(argv)
    if arguments.save.suffix not in (".png", ".svg"):
        parser.error(f"--save {arguments.save}: expected a file ending in .png or .svg")
    figure = {"curves": curves_figure, "attention": attention_figure}.get(arguments.kind, table_figure)(
        parser, arguments
    )
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
