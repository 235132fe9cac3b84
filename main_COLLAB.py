"""COLLAB: predict which scientists will publish together, in one graph of 235,868 (Tables 2, 4, 7, 8).

Copy this file to add a dataset of link prediction: change the dataset, the task and the default row. A collaboration network of
your own in OGB's raw format needs no new file: --dataset COLLAB-own --data.data_dir FOLDER (tools/collab_lookalike.py
writes a small one to try).
"""

from data.COLLAB import COLLAB, OwnCOLLAB
from nets import build_net
from train.config import parse_config
from train.launch import launch
from train.loop import fit
from train.random_state import seed_all
from train.table import row_report
from train.tasks import LinkPrediction

DATASETS = {"COLLAB": COLLAB, "COLLAB-own": OwnCOLLAB}


def main(argv=None):
    config = parse_config(argv, "COLLAB", DATASETS, default="T2-COLLAB-{model}-L*", description=__doc__)
    dataset = DATASETS[config.dataset](config.data, pos_enc_dim=config.net.n_eigenvectors)
    task = LinkPrediction()
    results = []
    for fold in dataset.chosen_folds(config.folds):
        seed_all(config.seed)  # before the net: its first weights depend on the seed alone
        net = build_net(config.net, dataset.features, task)
        results.append(fit(net, dataset.fold(fold), task, config.train, config.run(fold)))
    print(row_report(config.name, config.row, results))


if __name__ == "__main__":
    launch(main)
