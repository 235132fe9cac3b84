"""ZINC and AQSOL: predict a property of molecules (Tables 2 and 7).

Copy this file to add a dataset of graph regression: change the datasets and the default row.
"""

from data.molecules import AQSOL, ZINC, RebuiltAQSOL, RebuiltZINC, RedrawnZINC, SmilesZINC, ZINCFull
from nets import build_net
from tables import row_report, selection_report
from train import fit, parse_config, run_main, select, task_of

DATASETS = {
    dataset.name: dataset for dataset in (ZINC, ZINCFull, RebuiltZINC, RedrawnZINC, SmilesZINC, AQSOL, RebuiltAQSOL)
}


def main(argv=None):
    config = parse_config(argv, "molecules", DATASETS, default="table2_ZINC/GCN-L4", description=__doc__)
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
