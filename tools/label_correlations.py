"""Draws the correlations of the labels of a dataset, as Figure A.1 of LRGB does for Peptides-func and Peptides-struct.

python -m tools.label_correlations Peptides-func --save correlations.png

Pearson's correlation of each pair of label columns, over all graphs; NaN labels are left out pair by pair.
"""

import argparse
import io
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from data.dataset import DataConfig
from data.errors import DataError
from data.registry import open_dataset
from runs.files import RunError, write_atomic


def correlations(y):
    """(C, C) of labels (graphs, C); NaN for a column that is constant."""
    known = ~np.isnan(y)
    found = np.full((y.shape[1], y.shape[1]), np.nan)
    for i in range(y.shape[1]):
        for j in range(y.shape[1]):
            both = known[:, i] & known[:, j]
            a, b = y[both, i] - y[both, i].mean(), y[both, j] - y[both, j].mean()
            size = np.sqrt((a * a).sum() * (b * b).sum())
            found[i, j] = (a * b).sum() / size if size else np.nan
    return found


def labels_of(dataset):
    """(graphs, C) float64."""
    store = dataset.store
    field = store.fields.get("graph.label")
    if field is None or not field.shape or field.shape[0] < 2:
        raise DataError(f"{dataset.name}: it has no several labels per graph to correlate")
    rows = [store.batch(np.arange(i, min(i + 256, len(store)))).y.numpy() for i in range(0, len(store), 256)]
    return np.concatenate(rows).astype(np.float64)


def draw(found, title, names):
    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.subplots()
    picture = axes.imshow(found, vmin=-1, vmax=1, cmap="RdBu_r")
    for (i, j), value in np.ndenumerate(found):
        axes.text(j, i, f"{value:.2f}", ha="center", va="center", fontsize=7)
    axes.set_xticks(range(len(names)), names, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.set_title(title)
    figure.colorbar(picture, ax=axes)
    return figure


def main(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m tools.label_correlations",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("dataset", help="name of a dataset with several labels per graph")
    parser.add_argument("--save", type=Path, required=True, metavar="FILE", help="FILE.png or FILE.svg")
    arguments = parser.parse_args(argv)
    if arguments.save.suffix not in (".png", ".svg"):
        parser.error(f"--save {arguments.save}: expected a file ending in .png or .svg")
    try:
        dataset = open_dataset(arguments.dataset, DataConfig())
        found = correlations(labels_of(dataset))
        names = getattr(dataset, "label_names", None) or [str(i) for i in range(len(found))]
        picture = io.BytesIO()
        figure = draw(found, f"{arguments.dataset}: correlation of the labels", names)
        figure.savefig(picture, format=arguments.save.suffix[1:], dpi=150)
        write_atomic(arguments.save, picture.getvalue())
    except (RunError, DataError) as error:
        raise SystemExit(str(error)) from None
    print(f"drawn: {arguments.save}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
