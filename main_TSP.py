"""TSP: find the edges of the travelling salesman's shortest tour (Tables 2 and 4).

Without --config and --dataset it is a first try on TSP-small. `--dataset TSP` has the paper's size: its tours take hours to find,
once. Copy this file to add a dataset of edge classification: change the dataset, the task and the default row.
"""

from data.TSP import DATASETS
from nets import build_net
from train.config import parse_config
from train.launch import launch
from train.loop import fit
from train.random_state import seed_all
from train.table import row_report
from train.tasks import EdgeClassification


def main(argv=None):
    config = parse_config(
        argv, "TSP", DATASETS, default="T2-TSP-{model}-[Lh]*", description=__doc__, first_try="TSP-small"
    )
    dataset = DATASETS[config.dataset](config.data, pos_enc_dim=config.net.n_eigenvectors)
    task = EdgeClassification(dataset.n_classes)
    results = []
    for fold in dataset.chosen_folds(config.folds):
        seed_all(config.seed)  # before the net: its first weights depend on the seed alone
        net = build_net(config.net, dataset.features, task)
        results.append(fit(net, dataset.fold(fold), task, config.train, config.run(fold)))
    print(row_report(config.name, config.row, results))


if __name__ == "__main__":
    launch(main)
