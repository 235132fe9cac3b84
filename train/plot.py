"""Pictures of results: learning curves, a table as dots with error bars (paper and ours), accuracy against cost.

python -m train.plot curves FOLDER ... --save curves.png     of runs: folders that hold metrics.jsonl, at any depth
python -m train.plot table table3 --save table3.svg          test metric of each row, paper and ours
python -m train.plot cost table3 --save cost.png             test metric against seconds an epoch and parameters
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean, pstdev

from train.naming import run_name
from train.result_files import add_folders, read_results, report
from train.table import config_files, number_pair, printed_lines, results_of, scores


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


def table_points(name, folders, dataset=None):
    """[(row, paper (mean, sd) or None, ours (mean, sd) or None, seconds an epoch, parameters)]."""
    results, problems = read_results(folders)
    report(problems)
    files, suffix = config_files(), run_name("", {"dataset": dataset} if dataset else {})
    points = []
    for line in printed_lines(name):
        found = results_of(line, results, files, suffix)
        values = scores(found, "test")
        ours = (fmean(values), pstdev(values)) if values else None
        times = [
            r["epoch_time_s"] for r in found if r["epoch_time_s"]
        ]  # not of runs that ended before, or had nothing to learn
        seconds = fmean(times) if times else None
        points.append((line["row_id"], number_pair(line), ours, seconds, found[0]["params"] if found else None))
    return points, printed_lines(name)[0]["metric"]


def draw_table(figure, points, metric):
    axes = figure.subplots()
    for k, (_, paper, ours, *_) in enumerate(points):
        for values, shift, colour, label in ((paper, 0.15, "0.5", "paper"), (ours, -0.15, "C0", "ours")):
            if values is not None:
                axes.errorbar(
                    values[0], -k + shift, xerr=values[1], fmt="o", color=colour, capsize=2, markersize=4, label=label
                )
    axes.set_yticks([-k for k in range(len(points))], [row for row, *_ in points], fontsize=7)
    axes.set_xlabel(f"test {metric}")
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(
        *zip(*dict(zip(labels, zip(handles, labels, strict=True), strict=True)).values(), strict=True), fontsize=8
    )


def draw_cost(figure, points, metric):
    places = figure.subplots(1, 2)
    for row, _, ours, *costs in points:
        for axes, cost in zip(places, costs, strict=True):
            if ours is not None and cost is not None:
                axes.errorbar(cost, ours[0], yerr=ours[1], fmt="o", markersize=4, capsize=2)
                axes.annotate(row, (cost, ours[0]), fontsize=6, xytext=(3, 3), textcoords="offset points")
    for axes, name in zip(places, ("seconds an epoch", "parameters"), strict=True):
        axes.set(xscale="log", xlabel=name, ylabel=f"test {metric}")


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

    import matplotlib

    matplotlib.use("agg")
    from matplotlib.figure import Figure

    if arguments.kind == "curves":
        if arguments.dataset or arguments.out_dir != parser.get_default("out_dir"):
            parser.error("curves: --dataset and --out_dir are of tables; name the folders of the runs themselves")
        figure = Figure(figsize=(10, 4), layout="constrained")
        draw_curves(figure, read_curves(arguments.what))
    else:
        if len(arguments.what) > 1:
            parser.error(f"{' '.join(arguments.what)}: one table a picture")
        points, metric = table_points(arguments.what[0], arguments.out_dir, arguments.dataset)
        if arguments.kind == "cost" and all(ours is None for _, _, ours, *_ in points):
            raise SystemExit(
                f"{arguments.what[0]}: there is no result of it in {', '.join(map(str, arguments.out_dir))}"
            )
        height = 1.5 + 0.3 * len(points) if arguments.kind == "table" else 5
        figure = Figure(figsize=(10, height), layout="constrained")
        (draw_table if arguments.kind == "table" else draw_cost)(figure, points, metric)
    figure.savefig(arguments.save, dpi=150)
    print(f"drawn: {arguments.save}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
