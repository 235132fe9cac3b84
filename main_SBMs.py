"""PATTERN and CLUSTER: classify the nodes of graphs with communities (Tables 2 and 7).

Copy this file to add a dataset of node classification: change the datasets and the default row.
"""

from data.SBMs import CLUSTER, PATTERN, PublishedCLUSTER, PublishedPATTERN
from nets import build_net
from tables import row_report, selection_report
from train import fit, parse_config, run_main, select, task_of

DATASETS = {dataset.name: dataset for dataset in (PATTERN, CLUSTER, PublishedPATTERN, PublishedCLUSTER)}


def main(argv=None):
    config = parse_config(argv, "SBMs", DATASETS, default="table2_PATTERN/GCN-L4", description=__doc__)
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
