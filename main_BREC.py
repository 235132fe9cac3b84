"""BREC: which of 400 pairs of graphs can a net or an exact method tell apart? (Tables 2-4 of the BREC paper)

A row is a net that is trained on each pair and then tested (RPC), or a method without parameters: python main_BREC.py --config ROW.
The paper has the best of ten seeds: --seeds 100,200,300,400,500,600,700,800,900,1000.
"""

from data.BREC import BREC
from exact import METHODS
from runs.errors import ConfigError
from tables import pair_report
from train import parse_config, run_main
from train.pair_config import schema_of
from train.pairs import MethodJudge, compare_pairs
from train.siamese import NetJudge

DATASETS = {"BREC": BREC}


def pairs_of(config):
    return DATASETS[config.dataset](config.data).only(config.categories)


def with_method(config):
    """An exact method: its answer needs neither a seed nor a test."""
    if config.method not in METHODS:
        raise ConfigError(f"method={config.method!r}: expected one of {', '.join(METHODS)}")
    judge = MethodJudge(METHODS[config.method], pairs_of(config))
    return [compare_pairs(judge, config.run(), config.workers, config.memory)]


def with_net(config):
    """A net, trained anew on each pair and then tested; once per seed."""
    dataset = pairs_of(config)
    return [compare_pairs(NetJudge(one, dataset), one.run(), one.workers, one.memory) for one in config.each_seed()]


def main(argv=None):
    config = parse_config(argv, "BREC", DATASETS, default="brec_table2/GIN", description=__doc__, schema_of=schema_of)
    results = with_method(config) if hasattr(config, "method") else with_net(config)
    print(pair_report(config.name, results))


if __name__ == "__main__":
    run_main(main)
