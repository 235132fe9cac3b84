"""Pictures of profiles: heat maps with their tree (Figures 4, 5 and B.1), principal components with loadings (Figure 3)."""

import io

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.cluster.hierarchy import dendrogram

from runs.files import RunError, write_atomic
from tables import profiles
from tables.plot import plain_text
from tables.profiles import Scores

SIZE = (20, 9)
COLOURS = {"1": "C0", "2": "C1", "3": "C2"}  # of I-1, T-2, ...: by the last digit
PARTS = {"a": "figure4", "b": "figure5"}  # of Figure 3
PARTS_OF = {"a": "many graphs (inductive)", "b": "one graph (transductive)"}


def save(path, draw, size=SIZE):
    """Write the picture, whole or not at all."""
    figure, picture = Figure(figsize=size, layout="constrained"), io.BytesIO()
    draw(figure)
    figure.savefig(picture, format=path.suffix[1:], dpi=120)
    try:
        write_atomic(path, picture.getvalue())
    except RunError as error:
        raise SystemExit(str(error)) from None


def colour(cluster):
    return COLOURS.get(cluster.partition(",")[0][-1:], "0.5")


# --------------------------------------------------------------------------------------------------------------------
# Heat maps


def draw_heat_maps(figure, name, shown):
    """`shown` is {"ours": scores, "paper": scores}: a row per dataset, with ours below the paper's where there is anything of ours.
    The tree is the paper's, or ours where ours stands alone."""
    begun = [shown[source].begun() for source in ("paper", "ours") if source in shown]
    order, joins = tree_of(begun[0])
    pieces, labels, middles = [], [], []
    for dataset in begun[0].only(order).names:
        beside = [scores.only([scores.names.index(dataset)]) for scores in begun if dataset in scores.names]
        middles.append(len(labels) + len(beside) / 2)
        labels += [dataset, "ours"][: len(beside)]
        pieces += beside
    rows = Scores(
        labels,
        begun[0].columns,
        *(np.concatenate([getattr(p, key) for p in pieces]) for key in ("original", "perturbed")),
    )
    figure.set_size_inches(10, 2 + 0.27 * len(labels))
    tree, map_ = figure.subplots(1, 2, width_ratios=[1, 6])
    draw_tree(tree, joins, middles)
    mesh = draw_map(map_, name, rows)
    tree.set_ylim(len(labels), 0)
    map_.set_ylim(len(labels), 0)
    bar = figure.colorbar(mesh, ax=[tree, map_], location="bottom", aspect=50, shrink=0.6, pad=0.02, anchor=(0, 1))
    bar.set_ticks(np.log2([0.5, 0.7, 1, 1.4, 2]), labels=[50, 70, 100, 140, 200])
    bar.set_label(f"per cent of the AUROC of the dataset as it is\n{CLUSTERS}", fontsize=8, loc="left")


CLUSTERS = "I-1, T-2, …: clusters of the paper, I of many graphs (inductive), T of one (transductive)"


def tree_of(scores):
    """The order of the rows, datasets that have all columns first, and the joins of Ward's tree of these."""
    whole = np.flatnonzero(scores.is_complete)
    joins = profiles.ward(scores.profiles[whole])
    found = None if joins is None else dendrogram(joins, no_plot=True)
    leaves = np.arange(len(whole)) if found is None else np.array(found["leaves"])
    return [*whole[leaves], *np.flatnonzero(~scores.is_complete)], found


def draw_tree(axes, joins, middles):
    """The joins; leaf k is at the k-th of the middles, which scipy has at 5 + 10 k."""
    axes.set_axis_off()
    if joins is not None:
        for heights, places in zip(joins["dcoord"], joins["icoord"], strict=True):
            at = np.interp(np.array(places) / 10 - 0.5, np.arange(len(middles)), middles)
            axes.plot(-np.array(heights), at, color="0.5", linewidth=1)


def draw_map(axes, name, scores):
    n, m = scores.profiles.shape
    values = np.ma.masked_invalid(scores.profiles)
    mesh = axes.pcolormesh(np.arange(m + 1), np.arange(n + 1), values, cmap="RdBu", vmin=-1, vmax=1, edgecolors="white")
    axes.pcolormesh(
        [-1.3, -0.3], np.arange(n + 1), np.ma.masked_invalid(scores.original[:, None]), cmap="Greys", vmin=0.5, vmax=1.3
    )
    for i in range(n):
        write(axes, -0.8, i, scores.original[i], "{:.2f}", "black")
        for j, ratio in enumerate(scores.ratios[i]):
            dark = np.isfinite(scores.profiles[i, j]) and abs(scores.profiles[i, j]) > 0.6
            write(axes, j + 0.5, i, 100 * ratio, "{:.0f}", "white" if dark else "black")
    known = profiles.clusters_of_paper(name)
    axes.set_xticks(
        [-0.8, *np.arange(m) + 0.5], ["AUROC", *map(plain_text, scores.columns)], rotation=40, ha="left", fontsize=8
    )
    axes.xaxis.tick_top()
    axes.set_yticks(np.arange(n) + 0.5, [f"{plain_text(x)}  {known.get(x, '')}" for x in scores.names], fontsize=8)
    for label, dataset in zip(axes.get_yticklabels(), scores.names, strict=True):
        label.set_color(colour(known.get(dataset, "")))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return mesh


def write(axes, x, row, value, form, ink):
    if np.isfinite(value):
        axes.text(x, row + 0.5, form.format(value), ha="center", va="center", fontsize=7, color=ink)
    else:
        axes.text(x, row + 0.5, "-", ha="center", va="center", fontsize=7)


# --------------------------------------------------------------------------------------------------------------------
# Principal components


def draw_components(figure, sources):
    """Figure 3, parts a and b: the paper's datasets on their two components, and ours on the same ones; ours on its own where it
    stands alone, if there are enough datasets."""
    panels = []
    for part, name in PARTS.items():
        first, *others = [sources[source][name].complete() for source in ("paper", "ours") if source in sources]
        if len(first.names) >= profiles.FEWEST:
            panels.append((f"{part}, {PARTS_OF[part]}", name, first, [ours for ours in others if ours.names]))
    figure.set_size_inches(10, 7.5 * len(panels))
    grid = figure.subplots(2 * len(panels), 1, height_ratios=[5, 1] * len(panels)).reshape(-1, 2)
    for (title, name, scores, ours), (above, below) in zip(panels, grid, strict=True):
        found, known = profiles.principal_components(scores.profiles), profiles.clusters(scores, name)
        draw_places(above, found.at, scores.names, known)
        for scores_of_ours in ours:
            draw_ours(above, found, scores, scores_of_ours, known)
        draw_keys(above, known.values(), bool(ours))
        above.set_title(title, loc="left")
        draw_loadings(below, found, scores.columns)


def draw_ours(axes, found, scores, ours, known):
    """Ours as stars on the paper's components, each with a line to the paper's dot."""
    for name, profile in zip(ours.names, ours.profiles, strict=True):
        at, paper = found.place(profile), found.at[scores.names.index(name)]
        axes.plot(*zip(paper, at, strict=True), color="0.5", linewidth=0.8)
        axes.plot(*at, "*", color=colour(known.get(name, "")), markersize=9)


def draw_keys(axes, clusters, with_ours):
    """What the colours and signs are."""
    signs = {"paper": "o", "ours, on the paper's components": "*"} if with_ours else {}
    handles = [Line2D([], [], color=colour(c), marker="o", linestyle="", label=c) for c in sorted({*clusters})]
    handles += [Line2D([], [], color="0.5", marker=sign, linestyle="", label=label) for label, sign in signs.items()]
    if handles:
        axes.legend(handles=handles, fontsize=8)


def draw_places(axes, at, names, clusters):
    axes.margins(0.16)  # room for names
    for (x, y), name in zip(at, names, strict=True):
        axes.plot(x, y, "o", color=colour(clusters.get(name, "")), markersize=5)
    for (x, y), name, shift in zip(at, names, shifts(at, names, axes), strict=True):
        axes.annotate(plain_text(name), (x, y), shift, textcoords="offset points", fontsize=8)
    axes.set(xlabel="PC1", ylabel="PC2")
    axes.grid(color="0.5", alpha=0.25)


SPACE = np.array((560.0, 360.0))  # of the dots, in points, about


def shifts(at, names, axes):
    """Where each name stands beside its dot, in points: at the first place that no other name and no dot has."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    dots = (np.asarray(at) - (left, low)) / (right - left, high - low) * SPACE
    taken, found = [(*dot - 3, *dot + 3) for dot in dots], []
    for dot, name in zip(dots, names, strict=True):
        width, height = 4.6 * len(name), 8
        places = [(x, y) for y in (-3, 5, -11, 13, -19, 21, -27) for x in (5, -5 - width)]
        boxes = [(dot[0] + x, dot[1] + y, dot[0] + x + width, dot[1] + y + height) for x, y in places]
        clashes = [sum(overlap(box, other) for other in taken) for box in boxes]
        best = int(np.argmin(clashes))
        taken.append(boxes[best])
        found.append(places[best])
    return found


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def draw_loadings(axes, found, columns):
    axes.pcolormesh(found.loadings, cmap="PiYG", vmin=-1, vmax=1, edgecolors="white")
    for i, row in enumerate(found.loadings):
        for j, value in enumerate(row):
            axes.text(j + 0.5, i + 0.5, f"{value:.2f}", ha="center", va="center", fontsize=7, color="black")
    axes.set_yticks([0.5, 1.5], [f"PC{k} ({value:.1f} %)" for k, value in enumerate(found.explained, 1)])
    axes.set_xticks(np.arange(len(columns)) + 0.5, map(plain_text, columns), rotation=40, ha="right", fontsize=8)
    axes.invert_yaxis()
    axes.tick_params(length=0)


def draw_place(figure, placed):
    """A dataset among others, on their components; by the columns that it has."""
    found = profiles.principal_components(placed.among)
    above, below = figure.subplots(2, 1, height_ratios=[5, 1])
    draw_places(above, found.at, placed.others.names, placed.clusters)
    x, y = found.place(placed.profile)
    above.plot(x, y, "*", color=colour(placed.cluster()), markersize=16, markeredgecolor="black")
    above.annotate(plain_text(placed.name), (x, y), (6, 6), textcoords="offset points", fontsize=10, weight="bold")
    above.set_title(f"{plain_text(placed.name)}: cluster {placed.cluster()}")
    draw_loadings(below, found, placed.columns)
