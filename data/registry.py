"""All datasets by name: for the card, the check and the downloads. A main file lists those it can run."""

import difflib
from functools import partial

from data.BREC import BREC
from data.citation import DATASETS as CITATION_DATASETS
from data.COLLAB import COLLAB, OwnCOLLAB
from data.CSL import CSL, PublishedCSL
from data.errors import DataError
from data.geom_gcn import DATASETS as GEOM_GCN_DATASETS
from data.LRGB import DATASETS as LRGB_DATASETS
from data.LRGB_declared import DECLARED as LRGB_DECLARED
from data.malnet import DATASETS as MALNET_DATASETS
from data.molecules import AQSOL, ZINC, RebuiltAQSOL, RebuiltZINC, RedrawnZINC, SmilesZINC, ZINCFull
from data.musae import DATASETS as MUSAE_DATASETS
from data.ogb import DATASETS as OGB_DATASETS
from data.SBMs import CLUSTER, PATTERN, PublishedCLUSTER, PublishedPATTERN
from data.superpixels import CIFAR10, MNIST, CIFAR10First4000, PublishedCIFAR10, PublishedMNIST
from data.synthetic import DATASETS as SYNTHETIC_DATASETS
from data.TSP import DATASETS as TSP_DATASETS
from data.TUs import DECLARED as TU_DECLARED
from data.TUs import NAMES as TU_NAMES
from data.TUs import PREFIX, TABLE_5, TUDataset
from data.wikics_flickr import DATASETS as WIKICS_FLICKR_DATASETS

DATASETS = (
    {
        dataset.name: dataset
        for dataset in (
            CSL,
            PublishedCSL,
            PATTERN,
            CLUSTER,
            PublishedPATTERN,
            PublishedCLUSTER,
            MNIST,
            CIFAR10,
            CIFAR10First4000,
            PublishedMNIST,
            PublishedCIFAR10,
            ZINC,
            ZINCFull,
            RebuiltZINC,
            RedrawnZINC,
            SmilesZINC,
            AQSOL,
            RebuiltAQSOL,
            COLLAB,
            OwnCOLLAB,
            BREC,
        )
    }
    | TSP_DATASETS
    | LRGB_DATASETS
    | GEOM_GCN_DATASETS
    | CITATION_DATASETS
    | MUSAE_DATASETS
    | WIKICS_FLICKR_DATASETS
    | SYNTHETIC_DATASETS
    | MALNET_DATASETS
    | OGB_DATASETS
    | {name: partial(TUDataset, name) for name in TU_NAMES}
)
NAMES = ", ".join(DATASETS)


def declared(name):
    """What a net must know of a dataset before the data is there; None for one that does not say."""
    if name.startswith(PREFIX):
        return None
    return TU_DECLARED.get(name) or LRGB_DECLARED.get(name) or DATASETS[name].declared


def open_dataset(name, config, needs=None):
    """The dataset of this name, built if it must be. Names that are not ours are looked up in the TU collection as TU/NAME."""
    if name.startswith(PREFIX):
        return TUDataset(name, config, needs)
    if name not in DATASETS:
        close = difflib.get_close_matches(name.upper(), DATASETS, n=1, cutoff=0.7)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise DataError(f"{name}: no such dataset.{hint} Of the TU collection it would be TU/{name}. Known: {NAMES}")
    return DATASETS[name](config, needs=needs)


def is_undirected_in_table_5(name):
    """Table 5 counts each edge of the TU datasets once, and in all others both directions."""
    return name in TABLE_5
