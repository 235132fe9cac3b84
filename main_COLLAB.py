"""COLLAB: predict which scientists will publish together, in one graph of 235,868 (Tables 2, 4, 7, 8).

Copy this file to add a dataset of link prediction: change the dataset and the default row. A collaboration network of
your own in OGB's raw format needs no new file: --dataset COLLAB-own --data.data_dir FOLDER (tools/collab_lookalike.py
writes a small one to try).
"""

from data.COLLAB import COLLAB, OwnCOLLAB
from nets import build_net
from tables import row_report, selection_report
from train import fit, parse_config, run_main, select, task_of

DATASETS = {"COLLAB": COLLAB, "COLLAB-own": OwnCOLLAB}


def main(argv=None):
    config = parse_config(argv, "COLLAB", DATASETS, default="table2_COLLAB/GCN-L3", description=__doc__)
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
