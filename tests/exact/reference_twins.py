"""The rules of the twins (exact/twins.py) in plain Python: dictionaries {place: colour}, one graph after the other, all layers."""

import itertools

from data.transforms.i2_labels import i2_labels
from data.transforms.orbits import edge_orbits
from data.transforms.peripheral import peripheral_counts
from tests.exact.reference import neighbours, renumber


def rounds(step, pair, colourings, layers):
    colourings = renumber(*colourings)
    for _ in range(layers):
        colourings = renumber(*(step(i, colours) for i, colours in enumerate(colourings)))
    return colourings


def multiset(values):
    return tuple(sorted(values))


def distances(g):
    """{(u, v): distance} of nodes with a path between them."""
    near, found = neighbours(g), {}
    for u in range(g[0]):
        reached, d = {u}, 0
        while reached:
            found.update({(u, v): d for v in reached})
            reached, d = {w for v in reached for w in near[v] if (u, w) not in found}, d + 1
    return found


def inside(g, radius):
    """{(r, v): distance} of the nodes v in the ego net of r, and {(r, v): rows of its neighbours there}."""
    near = neighbours(g)
    rows = {place: d for place, d in distances(g).items() if d <= radius}
    return rows, {(r, v): [(r, u) for u in near[v] if (r, u) in rows] for r, v in rows}


def pool(colours, key):
    """{key of a place: multiset of its colours}."""
    found = {}
    for place, colour in colours.items():
        found.setdefault(key(place), []).append(colour)
    return {k: multiset(values) for k, values in found.items()}


def first(place):
    return place[0]


def last(place):
    return place[-1]


def ego_nets(pair, radius, told, layers, closed=True):
    rows = [inside(g, radius) for g in pair]

    def step(i, colours):
        near = rows[i][1]
        if closed:
            return {p: multiset([c, *(colours[q] for q in near[p])]) for p, c in colours.items()}
        return {p: (c, multiset(colours[q] for q in near[p])) for p, c in colours.items()}

    start = [{p: min(d, told) for p, d in of_graph.items()} for of_graph, _ in rows]
    return [pool(c, first) for c in rounds(step, pair, start, layers)]


def all_rows(g):
    return list(itertools.product(range(g[0]), repeat=2))


def dss_multisets(g, near, colours):
    """Both multisets of DSS-GNN for each row; a row outside its ego net has no neighbours."""
    mean, near_in_g = pool(colours, last), neighbours(g)
    shared = {v: multiset([mean[v], *(mean[u] for u in near_in_g[v])]) for v in range(g[0])}
    return {
        (r, v): (multiset([c, *(colours[q] for q in near.get((r, v), ()))]), shared[v]) for (r, v), c in colours.items()
    }


def dss_gnn(pair, radius, layers):
    near = [inside(g, radius)[1] for g in pair]
    start = [{(r, v): int(r != v) for r, v in all_rows(g)} for g in pair]
    return rounds(lambda i, colours: dss_multisets(pair[i], near[i], colours), pair, start, layers)


def sun(pair, radius, layers):
    near = [inside(g, radius)[1] for g in pair]

    def step(i, x):
        both, h = dss_multisets(pair[i], near[i], x), pool(x, first)
        return {(r, v): (r == v, x[v, v], x[r, r], x[r, v], both[r, v], h[r]) for r, v in x}

    return rounds(step, pair, [{(r, v): int(r != v) for r, v in all_rows(g)} for g in pair], layers)


def gnn_ak(pair, radius, layers, inner_layers):
    rows = [inside(g, radius) for g in pair]

    def inner(i, y):
        return {p: (c, multiset(y[q] for q in rows[i][1][p])) for p, c in y.items()}

    colourings = [dict.fromkeys(range(g[0]), 0) for g in pair]
    for _ in range(layers):
        start = [{(r, v): (x[v], d) for (r, v), d in of.items()} for x, (of, _) in zip(colourings, rows, strict=True)]
        ys = rounds(inner, pair, start, inner_layers)
        pools = [(y, pool(y, first), pool(y, last)) for y in ys]
        colourings = renumber(*({v: (y[v, v], s[v], context[v]) for v in s} for y, s, context in pools))
    return colourings


def local(g, x, u, v):
    near = neighbours(g)
    return x[u, v], multiset(x[u, w] for w in near[v]), multiset(x[w, v] for w in near[u])


def delta_2_lgnn(pair, layers):
    d = [distances(g) for g in pair]
    start = [{(u, v): min(d[i].get((u, v), 2), 2) for u, v in all_rows(g)} for i, g in enumerate(pair)]
    return rounds(lambda i, x: {(u, v): local(pair[i], x, u, v) for u, v in x}, pair, start, layers)


def sswl_p(pair, told, layers):
    d = [distances(g) for g in pair]
    start = [{(u, v): min(d[i].get((u, v), told), told) for u, v in all_rows(g)} for i, g in enumerate(pair)]
    step = lambda i, x: {(u, v): (local(pair[i], x, u, v), x[v, v]) for u, v in x}  # noqa: E731
    return [pool(x, first) for x in rounds(step, pair, start, layers)]


def ppgn(pair, k, iterations):
    """From A + I, where a node looks like its neighbours; pairs (v, v) are read apart from the others in the end."""
    d = [distances(g) for g in pair]
    start = [{(u, v): d[i].get((u, v), 2) < 2 for u, v in all_rows(g)} for i, g in enumerate(pair)]

    def step(i, x):
        n = pair[i][0]
        return {(u, v): (x[u, v], multiset((x[u, w], x[w, v]) for w in range(n))) for u, v in x}

    return [{(u, v): (u == v, c) for (u, v), c in x.items()} for x in rounds(step, pair, start, iterations)]


def kp_gnn(pair, K, layers):
    d = [distances(g) for g in pair]
    p = [peripheral_counts(*g, K).tolist() for g in pair]

    def step(i, x):
        rings = {v: [[u for u in x if d[i].get((u, v)) == k] for k in range(1, K + 1)] for v in x}
        return {
            v: tuple((tuple(p[i][v][k]), multiset([x[v], *(x[u] for u in ring)])) for k, ring in enumerate(rings[v]))
            for v in x
        }

    return rounds(step, pair, [dict.fromkeys(range(g[0]), 0) for g in pair], layers)


def i2_gnn(pair, radius, layers):
    roots, labels = zip(*(i2_labels(*g, radius) for g in pair), strict=True)
    near = [neighbours(g) for g in pair]
    start = [
        {(int(root[p]), p, v): tuple(z[p, v].tolist()) for p in range(len(z)) for v in range(z.shape[1]) if z[p, v, 0]}
        for root, z in zip(roots, labels, strict=True)
    ]

    def step(i, x):
        return {
            (r, p, v): (c, multiset(x[r, p, u] for u in near[i][v] if (r, p, u) in x)) for (r, p, v), c in x.items()
        }

    return [pool(pool(x, lambda place: place[:2]), first) for x in rounds(step, pair, start, layers)]


def kc_set_gnn(pair, layers):
    def sets(g):
        joined = set(zip(g[1].tolist(), g[2].tolist(), strict=True))
        for size in (1, 2, 3):
            for nodes in itertools.combinations(range(g[0]), size):
                n_edges = sum(edge in joined for edge in itertools.combinations(nodes, 2))
                if size - n_edges <= 2:
                    yield frozenset(nodes), (size, n_edges)

    def step(i, x):
        above = {s: [t for t in x if len(t) == len(s) + 1 and s < t] for s in x}
        below = {t: [s for s in x if len(t) == len(s) + 1 and s < t] for t in x}
        r = {s: multiset(x[t] for t in above[s]) for s in x}
        return {s: (c, r[s], multiset(x[q] for q in below[s]), multiset(r[q] for q in below[s])) for s, c in x.items()}

    return rounds(step, pair, [dict(sets(g)) for g in pair], layers)


def gsn(pair, k, layers):
    ids = [
        dict(zip(zip(g[1].tolist(), g[2].tolist(), strict=True), edge_orbits(*g, k=k).tolist(), strict=True))
        for g in pair
    ]
    near = [neighbours(g) for g in pair]

    def with_ids(i, x):
        return {v: (c, multiset((x[u], tuple(ids[i][u, v])) for u in near[i][v])) for v, c in x.items()}

    def without(i, x):
        return {v: (c, multiset(x[u] for u in near[i][v])) for v, c in x.items()}

    start = [dict.fromkeys(range(g[0]), 0) for g in pair]
    return rounds(without, pair, rounds(with_ids, pair, start, 1), layers - 1)


def graphormer(pair, layers):
    d = [distances(g) for g in pair]

    def step(i, x):
        return {v: (c, multiset((d[i].get((u, v), -1), x[u]) for u in x)) for v, c in x.items()}

    return rounds(step, pair, [dict(enumerate(map(len, neighbours(g)))) for g in pair], layers)


RULES = {
    "NGNN": ego_nets,
    "DE+NGNN": ego_nets,
    "DS-GNN": ego_nets,
    "DSS-GNN": dss_gnn,
    "SUN": sun,
    "SSWL_P": sswl_p,
    "GNN-AK": gnn_ak,
    "KP-GNN": kp_gnn,
    "I2-GNN": i2_gnn,
    "PPGN": ppgn,
    "delta-2-LGNN": delta_2_lgnn,
    "KC-SetGNN": kc_set_gnn,
    "GSN": gsn,
    "Graphormer": graphormer,
}
