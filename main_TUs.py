"""ENZYMES, DD, PROTEINS and all of the TU collection: classify graphs, ten-fold cross-validation (Table 6).

Any other dataset of the collection is called TU/NAME: python main_TUs.py --dataset TU/MUTAG.

Copy this file to add a dataset of graph classification: change the datasets and the default row.
"""

from data.TUs import NAMES, PREFIX, TUDataset
from nets import build_net
from tables import row_report, selection_report
from train import fit, parse_config, run_main, select, task_of


def main(argv=None):
    config = parse_config(argv, "TUs", NAMES, default="table6/ENZYMES-GCN-L4", description=__doc__, prefix=PREFIX)
    dataset = TUDataset(config.dataset, config.data, needs=config.net.needs)
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
