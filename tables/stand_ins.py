"""Datasets of another name than the paper's that hold the paper's own graphs: {name: (the paper's dataset, what is the paper's)}.

Their results stand beside the printed numbers and are judged by them. Any other dataset is shown and not judged.
"""

STAND_INS = {
    "ZINC-rebuilt": ("ZINC", "the paper's molecules, targets computed again"),
    "CSL-published": ("CSL", "the paper's graphs and folds"),
    "Peptides-func-published": ("Peptides-func", "the same graphs and splits, published in processed form"),
    "Peptides-struct-published": (
        "Peptides-struct",
        "the same graphs, z-scores and splits, published in processed form",
    ),
    "PCQM-Contact-published": ("PCQM-Contact", "the same graphs and splits, published in processed form"),
    "CF-PubMed-rebuilt": ("CF-PubMed", "the same papers, links and words in another order, so random splits differ"),
}
