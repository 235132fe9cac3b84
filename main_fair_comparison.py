"""A Fair Comparison: nested cross-validation over a grid, nine TU datasets, six models (Tables 3 and 4 of the paper).

Per outer fold every configuration of the grid is trained once and compared on the inner validation split; the best one is
trained three times and tested. Copy this file to select a model on a dataset of yours: change the dataset and the default row.
"""

from data.TUs import NAMES, PREFIX, TUDataset
from tables import row_report
from train import parse_config, run_main, task_of
from train.selection import SelectionConfig, select_and_assess


def main(argv=None):
    config = parse_config(
        argv,
        "fair_comparison",
        NAMES,
        default="fair_GIN/ENZYMES",
        description=__doc__,
        schema_of=lambda content: SelectionConfig,
        prefix=PREFIX,
    )
    dataset = TUDataset(config.dataset, config.data, needs=config.net.needs)
    task = task_of(dataset)
    folds = dataset.chosen_folds(config.folds)
    results = [select_and_assess(one, dataset, fold, task) for one in config.each_seed() for fold in folds]
    if config.part is None:  # else another process goes on with what this one trained
        print(row_report(config.name, results))


if __name__ == "__main__":
    run_main(main)
