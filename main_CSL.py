"""CSL: tell ten families of circular skip-link graphs apart (Table 3).

Copy this file to add a dataset of graph classification: change the dataset, the task and the default row.
"""

from data.CSL import CSL, PublishedCSL
from nets import build_net
from train.config import parse_config
from train.launch import launch
from train.loop import fit
from train.random_state import seed_all
from train.table import row_report
from train.tasks import GraphClassification

DATASETS = {"CSL": CSL, "CSL-published": PublishedCSL}


def main(argv=None):
    config = parse_config(argv, "CSL", DATASETS, default="T3-CSL-{model}-LapPE-*", description=__doc__)
    dataset = DATASETS[config.dataset](config.data, pos_enc_dim=config.net.n_eigenvectors)
    task = GraphClassification(dataset.n_classes)
    results = []
    for fold in dataset.chosen_folds(config.folds):
        seed_all(config.seed)  # before the net: its first weights depend on the seed alone
        net = build_net(config.net, dataset.features, task)
        results.append(fit(net, dataset.fold(fold), task, config.train, config.run(fold)))
    print(row_report(config.name, config.row, results))


if __name__ == "__main__":
    launch(main)
