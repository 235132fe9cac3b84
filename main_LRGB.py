"""LRGB: five datasets on which distant nodes matter (Tables 3-5 of the Long Range Graph Benchmark).

Copy this file to add datasets that state their own task: change DATASETS and the default row.
"""

from data.LRGB import DATASETS
from nets import build_net
from tables import row_report, selection_report
from train import fit, parse_config, run_main, select, task_of


def main(argv=None):
    config = parse_config(argv, "LRGB", DATASETS, default="lrgb_table4_func/GCN", description=__doc__)
    dataset = DATASETS[config.dataset](config.data, needs=config.net.needs)
    task = task_of(dataset)
    if config.selects:  # the row has a grid: compare its configurations, then train and test the best one
        print(selection_report(config.name, config.grid, select(config, dataset, task)))
        return
    results = []
    for run in config.runs(dataset.chosen_folds(config.folds)):
        net = build_net(config.net, dataset.features, task, seed=run.seed)
        results.append(fit(net, dataset.fold(run.fold), task, config.train, run))
    print(row_report(config.name, results))


if __name__ == "__main__":
    run_main(main)
