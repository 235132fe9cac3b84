"""Pictures of profiles: heat maps with their tree (Figures 4, 5 and B.1), principal components with loadings (Figure 3)."""

import io

import numpy as np
from matplotlib.figure import Figure
from scipy.cluster.hierarchy import dendrogram

from runs.files import RunError, write_atomic
from tables import profiles
from tables.plot import plain_text

SIZE = (20, 9)
COLOURS = {"1": "C0", "2": "C1", "3": "C2"}  # of I-1, T-2, ...: by the last digit
PARTS = {"a": "figure4", "b": "figure5"}  # of Figure 3
LABELS = {"ours": "ours", "paper": "published scores"}


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
    """`shown` is {"ours": scores, "paper": scores}, one above the other with rows of one height; ours only if there is anything."""
    panels = {source: begun for source, scores in shown.items() if (begun := scores.begun()).names}
    heights = [len(scores.names) for scores in panels.values()]
    figure.set_size_inches(10, 1.2 * len(panels) + 0.27 * sum(heights))
    grid = figure.add_gridspec(len(panels), 2, width_ratios=[1, 6], height_ratios=heights)
    for k, (source, scores) in enumerate(panels.items()):
        tree, map_ = figure.add_subplot(grid[k, 0]), figure.add_subplot(grid[k, 1])
        order = draw_tree(tree, scores)
        draw_map(map_, name, scores.only(order))
        map_.set_xlabel(f"{LABELS[source]}: per cent of the AUROC of the dataset as it is")
        tree.set_ylim(len(order), 0)
        map_.set_ylim(len(order), 0)


def draw_tree(axes, scores):
    """Draw Ward's tree of the datasets that have all columns; the order of the rows, theirs first."""
    whole = np.flatnonzero(scores.is_complete)
    axes.set_axis_off()
    joins = profiles.ward(scores.profiles[whole])
    leaves = np.arange(len(whole))
    if joins is not None:
        found = dendrogram(joins, no_plot=True)
        leaves = np.array(found["leaves"])
        for heights, places in zip(found["dcoord"], found["icoord"], strict=True):
            axes.plot(-np.array(heights), np.array(places) / 10, color="0.5", linewidth=1)
    return [*whole[leaves], *np.flatnonzero(~scores.is_complete)]


def draw_map(axes, name, scores):
    n, m = scores.profiles.shape
    values = np.ma.masked_invalid(scores.profiles)
    axes.pcolormesh(np.arange(m + 1), np.arange(n + 1), values, cmap="RdBu", vmin=-1, vmax=1, edgecolors="white")
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
    axes.yaxis.tick_right()
    axes.set_yticks(np.arange(n) + 0.5, [f"{plain_text(x)}  {known.get(x, '')}" for x in scores.names], fontsize=8)
    for label, dataset in zip(axes.get_yticklabels(), scores.names, strict=True):
        label.set_color(colour(known.get(dataset, "")))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def write(axes, x, row, value, form, ink):
    if np.isfinite(value):
        axes.text(x, row + 0.5, form.format(value), ha="center", va="center", fontsize=7, color=ink)
    else:
        axes.text(x, row + 0.5, "-", ha="center", va="center", fontsize=7)


# --------------------------------------------------------------------------------------------------------------------
# Principal components


def draw_components(figure, sources):
    """Figure 3: parts a and b of each of the sources that has three datasets or more with all columns."""
    panels = [
        (f"{part}, {LABELS[source]}", name, whole)
        for source, scores in sources.items()
        for part, name in PARTS.items()
        if len((whole := scores[name].complete()).names) > 2
    ]
    figure.set_size_inches(10, 7 * len(panels))
    grid = figure.subplots(2 * len(panels), 1, height_ratios=[5, 1] * len(panels)).reshape(-1, 2)
    for (title, name, scores), (above, below) in zip(panels, grid, strict=True):
        found = profiles.principal_components(scores.profiles)
        draw_places(above, found.at, scores.names, profiles.clusters(scores, name))
        above.set_title(title)
        draw_loadings(below, found, scores.columns)


def draw_places(axes, at, names, clusters):
    for (x, y), name in zip(at, names, strict=True):
        axes.plot(x, y, "o", color=colour(clusters.get(name, "")), markersize=5)
        axes.annotate(plain_text(name), (x, y), (3, 3), textcoords="offset points", fontsize=8)
    axes.set(xlabel="PC1", ylabel="PC2")
    axes.grid(color="0.5", alpha=0.25)


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
