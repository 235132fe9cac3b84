"""The card of a dataset: what it is, its counts beside those printed in its paper, class balance, hash, files and licence.

python -m data.card PATTERN --draw pattern.png
"""

import argparse
import csv
import inspect
import sys
import textwrap
from pathlib import Path

import numpy as np

from data.dataset import ROOT, DataConfig
from data.errors import DataError, StoreError
from data.registry import NAMES, is_undirected_in_table_5, open_dataset
from data.TUs import TABLE_5, TUDataset

PICTURES = (".png", ".pdf", ".svg", ".jpg")
TABLES = ROOT / "paper_tables" / "benchmarking_gnns"


def paper_row(table, name):
    """The row of the dataset in Table 1 or 5, as {column: text}; empty if it has none."""
    with open(TABLES / table, newline="") as file:
        return next((row for row in csv.DictReader(file) if row["dataset"] == name), {})


def paper_name(dataset):
    """ZINC for ZINC-redrawn: the dataset of the paper that it is to be compared with."""
    if isinstance(dataset, TUDataset):  # the collection has a COLLAB and a CSL too, which are others
        return dataset.table_name if dataset.table_name in TABLE_5 else "none"
    return getattr(dataset, "paper_name", dataset.name.split("-")[0])


def statistics(dataset):
    """[(what, in the paper, in the store)] as texts; "-" where the paper says nothing. Of Tables 1 and 5 of Benchmarking
    Graph Neural Networks, unless the dataset is of another paper and has its own."""
    if hasattr(dataset, "statistics"):
        return dataset.statistics()
    store, name = dataset.store, paper_name(dataset)
    table1, table5 = paper_row("table1_datasets.csv", name), paper_row("table5_dataset_statistics.csv", name)
    counts, n = store.header["counts"], len(store)
    edges, note = (store.n_edges / n, "directed edges per graph")
    if is_undirected_in_table_5(name):
        edges, note = edges / 2, "edges per graph, each counted once"
    label = next((field for field in store.fields.values() if field.name == "label"), None)
    classes = label.n_types if label is not None and label.n_types else None
    rows = [
        ("graphs", table5.get("n_graphs"), n),
        ("nodes", table1.get("total_nodes"), f"{store.n_nodes:,}"),
        ("nodes per graph, from - to", table1.get("n_nodes_range"), f"{counts['min_nodes']}-{counts['max_nodes']}"),
        ("nodes per graph", table5.get("avg_nodes"), f"{store.n_nodes / n:.2f}"),
        (note, table5.get("avg_edges"), f"{edges:.2f}"),
        ("classes", table5.get("n_classes"), classes),
        ("node features", feature_text(table5, "node"), field_text(dataset.features.node)),
        ("edge features", feature_text(table5, "edge"), field_text(dataset.features.edge)),
    ]
    return [(what, str(paper or "-"), str(ours or "-")) for what, paper, ours in rows]


def feature_text(row, level):
    kind, dim = row.get(f"{level}_feat", ""), row.get(f"{level}_feat_dim", "")
    return f"{kind} ({dim})" if dim else kind


def field_text(field):
    if field is None:
        return "none"
    if isinstance(field.n_types, tuple):
        return f"{len(field.n_types)} columns of {', '.join(map(str, field.n_types))} types"
    return f"{field.n_types} types" if field.n_types else f"{'x'.join(map(str, field.shape)) or 1} {field.dtype}"


def class_balance(dataset):
    """Lines such as "class 0: 50.0 % (300)"; for numbers, their range and mean."""
    label = next((field for field in dataset.store.fields.values() if field.name == "label"), None)
    if label is None:
        return []
    values = dataset.store.column(label.key)
    if not label.n_types:
        values = values[~np.isnan(values)]
        return [
            f"target: {values.min():.4g} to {values.max():.4g}, mean {values.mean():.4g}, deviation {values.std():.4g}"
        ]
    counts = np.bincount(values.reshape(-1), minlength=label.n_types)
    return [f"{label.level} class {c}: {100 * n / counts.sum():5.1f} % ({n:,})" for c, n in enumerate(counts)]


def card(dataset):
    """The text of the card."""
    store = dataset.store
    module = inspect.getmodule(type(dataset))
    lines = [
        f"{dataset.name}, version {dataset.version}",
        "",
        *textwrap.dedent(module.__doc__).strip().splitlines(),
        "",
    ]
    rows = [("", f"paper, {paper_name(dataset)}", "ours"), *statistics(dataset)]
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    lines += ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += ["", *(dataset.summary() if hasattr(dataset, "summary") else class_balance(dataset)), ""]
    if dataset.folds:
        parts = ", ".join(f"{part} {len(members):,}" for part, members in dataset.fold(0).parts.items())
        lines.append(f"splits: {len(dataset.folds)} ({parts})")
    lines.append(f"made by: {store.header['generator']}")
    lines += [f"hash: {store.hash}", f"folder: {store.path}"]
    for name, entry in store.header["arrays"].items():
        if not name.startswith("free."):
            lines.append(f"  {entry['file']}: {entry['bytes']:,} bytes, SHA-256 {entry['sha256']}")
    for file in getattr(dataset, "raw_files", ()):
        lines.append(f"raw file: {file.path} ({' or '.join(file.urls) or 'no address known: from your own folder'})")
    lines.append(f"licence: {dataset.licence}")
    return "\n".join(lines)


def draw(dataset, path, n=6):
    """Pictures of n graphs, spread over the dataset, in one file; its ending says the format."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    chosen = np.unique(np.linspace(0, len(dataset.store) - 1, n).round().astype(int))
    figure, places = plt.subplots(2, -(-len(chosen) // 2), figsize=(12, 8), squeeze=False)
    for axes in places.flat:
        axes.set_axis_off()
    for i, axes in zip(chosen, places.flat, strict=False):
        dataset.draw(axes, int(i))
        axes.set_axis_off()
        sizes = f"{len(dataset.store.rows('node.in_degree', i))} nodes, {len(dataset.store.rows('edge.src', i))} edges"
        label = dataset.store.fields.get("graph.label")
        single = label is not None and not label.shape
        value = f", label {dataset.store.rows('graph.label', i):.3g}" if single else ""
        axes.set_title(f"{dataset.name} {i}: {sizes}{value}", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def parse(argv):
    parser = argparse.ArgumentParser(prog="python -m data.card", description=__doc__.split("\n\n")[0])
    parser.add_argument("name", help=f"{NAMES}, or TU/NAME")
    parser.add_argument("--draw", metavar="FILE.png", type=Path, help="draw some of its graphs")
    parser.add_argument("--limit", type=int, help="only so many graphs of each part (generated datasets)")
    parser.add_argument("--data_dir", help="folder with raw files of yours (environment variable GNN_DATA)")
    parser.add_argument("--store_dir", help="folder of the packed datasets (environment variable GNN_STORES)")
    parser.add_argument("--offline", action="store_true", help="never download")
    arguments = parser.parse_args(argv)
    keys = {
        key: getattr(arguments, key)
        for key in ("limit", "data_dir", "store_dir")
        if getattr(arguments, key) is not None
    }
    if arguments.limit is not None and arguments.limit < 1:
        parser.error(f"--limit {arguments.limit}: expected a positive number")
    if arguments.draw and arguments.draw.suffix.lower() not in PICTURES:
        parser.error(f"--draw {arguments.draw}: expected a name that ends in {', '.join(PICTURES)}")
    return arguments, DataConfig(offline=arguments.offline, **keys)


def main(argv=None):
    arguments, config = parse(argv)
    try:
        dataset = open_dataset(arguments.name, config)
        print(card(dataset))
        if arguments.draw:
            draw(dataset, arguments.draw)  # may read raw files: superpixels are drawn over their image
            print(f"drawn: {arguments.draw}")
    except (DataError, StoreError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
