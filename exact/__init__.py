"""The exact, non-neural methods of BREC (first block of Table 2, Tables 3 and 4), and the exact twins of its nets.

    from exact import METHODS
    METHODS["N_2"](g, h)        # True: the pair is told apart; a graph is (n, src, dst), both directions of each edge
    METHODS["NGNN"](g, h)       # False: NGNN gives both the same embedding, whatever its weights

Integers only, and nothing random: the answer depends on the two graphs alone, not on how their nodes are numbered.
"""

from functools import partial

from exact.colours import differ
from exact.graphs import check_graph
from exact.marking import m_1
from exact.neighbourhoods import n_k
from exact.refinement import k_fwl, k_wl, wl
from exact.spd_wl import spd_wl
from exact.substructures import s_k
from exact.twins import TABLE_5, TWINS


def distinguishes(g, h, colours, **parameters):
    """Does the method `colours` give g and h different histograms of colours?"""
    check_graph(g)
    check_graph(h)
    return g[0] != h[0] or differ(colours(g, h, **parameters))


def method(colours, **parameters):
    return partial(distinguishes, colours=colours, **parameters)


METHODS = {
    "1-WL": method(wl),
    "3-WL": method(k_fwl, k=2),  # the same power (appendix C); Table 4 counts the iterations of this form
    **{f"3-WL-iterations-{t}": method(k_fwl, k=2, iterations=t) for t in range(1, 7)},
    "SPD-WL": method(spd_wl),
    **{f"S_{k}": method(s_k, k=k) for k in (3, 4)},
    **{f"N_{k}": method(n_k, k=k) for k in range(1, 11)},
    "M_1": method(m_1),
    # beyond the paper's tables: the definitions on tuples, where memory allows (exact/refinement.py)
    **{f"{k}-WL-on-tuples": method(k_wl, k=k) for k in (2, 3, 4)},
    **{f"{k}-FWL": method(k_fwl, k=k) for k in (2, 3, 4)},
    # the twins of the nets of Table 2, by the names of the nets: what these can tell apart at most (exact/twins.py)
    **{name: method(colours, **parameters) for name, (colours, parameters) in (TWINS | TABLE_5).items()},
}
