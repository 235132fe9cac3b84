"""PATTERN and CLUSTER: classify the nodes of graphs with communities (Tables 2 and 7).

Copy this file to add a dataset of node classification: change the datasets, the task and the default row.
"""

from data.SBMs import CLUSTER, PATTERN, PublishedCLUSTER, PublishedPATTERN
from nets import build_net
from train.config import parse_config
from train.launch import launch
from train.loop import fit
from train.random_state import seed_all
from train.table import row_report
from train.tasks import NodeClassification

DATASETS = {dataset.name: dataset for dataset in (PATTERN, CLUSTER, PublishedPATTERN, PublishedCLUSTER)}


def main(argv=None):
    config = parse_config(argv, "SBMs", DATASETS, default="T2-{dataset}-{model}-*", description=__doc__)
    dataset = DATASETS[config.dataset](config.data, pos_enc_dim=config.net.n_eigenvectors)
    task = NodeClassification(dataset.n_classes)
    results = []
    for fold in dataset.chosen_folds(config.folds):
        seed_all(config.seed)  # before the net: its first weights depend on the seed alone
        net = build_net(config.net, dataset.features, task)
        results.append(fit(net, dataset.fold(fold), task, config.train, config.run(fold)))
    print(row_report(config.name, config.row, results))


if __name__ == "__main__":
    launch(main)
