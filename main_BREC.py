"""BREC: which of 400 pairs of graphs can a net or an exact method tell apart? (Tables 2-4 of the BREC paper)

A row is a net that is trained on each pair and then tested (RPC), or a method without parameters: python main_BREC.py --config ROW.
The paper has the best of ten seeds: --seeds [100,200,300,400,500,600,700,800,900,1000].
"""

from functools import partial

from data.BREC import BREC
from exact import METHODS
from nets import count_parameters
from train.config import ConfigError, parse_config
from train.launch import launch
from train.pair_config import MethodPairConfig, schema_of
from train.pair_table import pair_report
from train.pairs import MethodJudge, compare_pairs, count_answers, count_verdicts
from train.siamese import NetJudge, make_net

DATASETS = {"BREC": BREC}


def main(argv=None):
    config = parse_config(argv, "BREC", DATASETS, "*-BREC-{model}*", description=__doc__, schema_of=schema_of)
    exact = isinstance(config, MethodPairConfig)
    if exact and config.method not in METHODS:
        raise ConfigError(f"method={config.method!r}: expected one of {', '.join(METHODS)}")
    dataset = DATASETS[config.dataset](config.data)
    if exact:
        judge = MethodJudge(METHODS[config.method], dataset)
        results = [compare_pairs(dataset, judge, config.run(), config, count_answers)]
    else:
        params, summarise = count_parameters(make_net(config)[0]), partial(count_verdicts, config.test)
        results = [
            compare_pairs(dataset, NetJudge(one, dataset), one.run(), one, summarise, params)
            for one in config.each_seed()
        ]
    print(pair_report(config.name, config.row, results))


if __name__ == "__main__":
    launch(main)
