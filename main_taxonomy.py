"""Taxonomy of Benchmarks: what a dataset measures, by what its perturbations do to GCN and GIN (Figures 3-5 and B.1).

Graphs, or the nodes of one graph, are classified and measured by AUROC. `data.transforms` perturbs every graph first. Any dataset
of the TU collection is called TU/NAME. Copy this file to see a dataset of yours perturbed: change the dataset and the default row.
"""

from data.registry import DATASETS, open_dataset
from data.TUs import PREFIX
from nets import build_net
from tables import row_report
from train import auroc_task, fit, parse_config, run_main


def main(argv=None):
    config = parse_config(
        argv, "taxonomy", DATASETS, default="taxonomy_figure4/MUTAG", description=__doc__, prefix=PREFIX
    )
    results = []
    for one in config.each_seed():
        # what is drawn at random of the data, fragments and some splits, follows the run's seed
        dataset = open_dataset(one.dataset, one.data.of_run(one.seed), needs=one.net.needs)
        task = auroc_task(dataset)
        for fold in dataset.chosen_folds(one.folds):
            net = build_net(one.net, dataset.features, task, seed=one.seed)
            results.append(fit(net, dataset.fold(fold), task, one.train, one.run(fold)))
    print(row_report(config.name, results))


if __name__ == "__main__":
    run_main(main)
