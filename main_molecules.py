"""ZINC and AQSOL: predict a property of molecules (Tables 2 and 7).

Copy this file to add a dataset of graph regression: change the datasets, the task and the default row.
"""

from data.molecules import AQSOL, ZINC, RebuiltAQSOL, RebuiltZINC, RedrawnZINC, SmilesZINC, ZINCFull
from nets import build_net
from train.config import parse_config
from train.launch import launch
from train.loop import fit
from train.random_state import seed_all
from train.table import row_report
from train.tasks import GraphRegression

DATASETS = {
    dataset.name: dataset for dataset in (ZINC, ZINCFull, RebuiltZINC, RedrawnZINC, SmilesZINC, AQSOL, RebuiltAQSOL)
}


def main(argv=None):
    config = parse_config(argv, "molecules", DATASETS, default="T2-ZINC-{model}-*", description=__doc__)
    dataset = DATASETS[config.dataset](config.data, pos_enc_dim=config.net.n_eigenvectors)
    task = GraphRegression()
    results = []
    for fold in dataset.chosen_folds(config.folds):
        seed_all(config.seed)  # before the net: its first weights depend on the seed alone
        net = build_net(config.net, dataset.features, task)
        results.append(fit(net, dataset.fold(fold), task, config.train, config.run(fold)))
    print(row_report(config.name, config.row, results))


if __name__ == "__main__":
    launch(main)
