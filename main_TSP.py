"""TSP: find the edges of the travelling salesman's shortest tour (Tables 2 and 4).

Without --config and --dataset it is a first try on TSP-small. `--dataset TSP` has the paper's size: its tours take hours to find,
once. Copy this file to add a dataset of edge classification: change the dataset and the default row.
"""

from data.TSP import DATASETS
from nets import build_net
from tables import row_report, selection_report
from train import fit, parse_config, run_main, select, task_of


def main(argv=None):
    config = parse_config(
        argv, "TSP", DATASETS, default="table2_TSP/GCN-L4", description=__doc__, first_try="TSP-small"
    )
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
