"""A travelling salesman's tour by iterated Lin-Kernighan search, compiled by numba.

A nearest-neighbour tour is improved by chains of exchanges, each of two or three edges, until none is left that helps (Lin and
Kernighan 1973). Then, many times: two neighbouring pieces of the tour change places, the damage is repaired by the same chains, and
the result is kept if it is not longer, or hardly; else the log of flips is played backwards.

A tour is kept as the array `tour` (city at each place) and its inverse `place`. `d` are the distances, `near` the candidates:
the nearest others of each city. Only +, -, *, / and comparisons: every machine finds the same tour.
"""

import numba
import numpy as np

NEIGHBOURS = 8  # an edge is only put in between a city and one of so many nearest others
ROUNDS = 5  # exchanges in a chain
REACH = 50  # longest piece that changes places
HEAT = 0.1  # mean edges that a tour may become longer by at first; falls to 0
TINY = 1e-9  # in mean distances: what is shorter by less is rounding, not progress
MAX_FLIPS = 1 << 16  # room in the log; a repair stops when only half of it is left
SWAP, TURN, FLIP, FLIPS = 1, 2, 3, 4  # the kinds of exchange, see `exchange`
compiled = numba.njit(cache=True)


def shortest_tour(d, iterations, seed):
    """A short tour, as an order of the cities, under the symmetric distances d (n, n)."""
    d = np.ascontiguousarray(d, np.float64)
    if len(d) < 4:  # all tours are the same
        return np.arange(len(d))
    others = d.copy()
    np.fill_diagonal(others, np.inf)
    near = np.argsort(others, axis=1, kind="stable")[:, : min(NEIGHBOURS, len(d) - 1)]
    return search(d, np.ascontiguousarray(near), iterations, seed)


@compiled
def search(d, near, iterations, seed):
    n = len(d)
    random = np.full(1, np.uint64(88172645463325252) ^ np.uint64(seed))
    tour = nearest_neighbour_tour(d, random_below(random, n))
    place = np.empty(n, np.int64)
    place[tour] = np.arange(n)
    log = np.zeros((MAX_FLIPS, 2), np.int64)  # log[0, 0]: how many there are
    queue, waiting, ends = np.empty(n, np.int64), np.zeros(n, np.bool_), np.zeros(2, np.int64)
    touched = np.empty(4 * ROUNDS + 3, np.int64)
    tiny = TINY * d.mean()
    mean_edge = length(d, tour) / n
    for city in tour:
        push(queue, waiting, ends, city)
    repair(tour, place, d, near, log, queue, waiting, ends, tiny, touched, False)

    now, lowest, best = 0.0, 0.0, tour.copy()  # lengths, compared with the tour after the first repair
    reach = min(REACH, (n - 2) // 2)
    for i in range(iterations):
        log[0, 0] = 0
        longer = disturb(tour, place, d, log, queue, waiting, ends, reach, random)
        longer -= repair(tour, place, d, near, log, queue, waiting, ends, tiny, touched, True)
        allowed = HEAT * mean_edge * (1 - i / iterations) * random_below(random, 1 << 16) / (1 << 16)
        if longer > allowed + tiny:
            undo(tour, place, log, 0)
            continue
        now += longer
        if now < lowest - tiny:
            lowest = now
            best[:] = tour
    return best


@compiled
def random_below(state, n):
    """Xorshift: a frozen stream, the same with every version of numba."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64(x >> np.uint64(1)) % n


@compiled
def length(d, tour):
    total = 0.0
    for i in range(len(tour)):
        total += d[tour[i - 1], tour[i]]
    return total


@compiled
def nearest_neighbour_tour(d, start):
    n = len(d)
    tour, free = np.empty(n, np.int64), np.ones(n, np.bool_)
    tour[0] = start
    free[start] = False
    for i in range(1, n):
        best = -1
        for city in range(n):
            if free[city] and (best < 0 or d[tour[i - 1], city] < d[tour[i - 1], best]):
                best = city
        tour[i] = best
        free[best] = False
    return tour


# --------------------------------------------------------------------------------------------------------------------
# Flips


@compiled
def beside(tour, place, city, by):
    """The next city of the tour (by = 1) or the one before (by = -1)."""
    i = place[city] + by
    n = len(tour)
    return tour[i - n if i >= n else i + n if i < 0 else i]


@compiled
def between(place, by, a, b, c):
    """Is b met on the way from a to c, in the direction `by`?"""
    if by < 0:
        a, c = c, a
    if place[a] <= place[c]:
        return place[a] <= place[b] <= place[c]
    return place[b] >= place[a] or place[b] <= place[c]


@compiled
def reverse(tour, place, i, j):
    """Reverse the tour from place i to place j, across its end if j < i. Done twice, it is undone."""
    n = len(tour)
    size = j - i + 1 if j >= i else j - i + 1 + n
    for _ in range(size // 2):
        a, b = tour[i], tour[j]
        tour[i], tour[j] = b, a
        place[b], place[a] = i, j
        i = i + 1 if i + 1 < n else 0
        j = j - 1 if j > 0 else n - 1


@compiled
def flip(tour, place, log, before, first, last):
    """Turn round the piece first .. last of the tour; `before` is the city beside `first`, outside the piece.

    To turn round all the rest instead gives the same tour, read backwards: the shorter of the two is turned.
    """
    if first == last:
        return
    n = len(tour)
    i, j = place[first], place[last]
    if beside(tour, place, before, 1) != first:
        i, j = j, i
    size = j - i + 1 if j >= i else j - i + 1 + n
    if 2 * size > n:
        i, j = (j + 1) % n, (i - 1) % n
    reverse(tour, place, i, j)
    log[0, 0] += 1
    log[log[0, 0], 0], log[log[0, 0], 1] = i, j


@compiled
def undo(tour, place, log, left):
    """Take back flips until only `left` are in the log."""
    while log[0, 0] > left:
        reverse(tour, place, log[log[0, 0], 0], log[log[0, 0], 1])
        log[0, 0] -= 1


# --------------------------------------------------------------------------------------------------------------------
# Exchanges: edges (t1, t2), (t3, t4), (t5, t6) go, edges (t2, t3), (t4, t5), (t6, t1) come


@compiled
def exchange(tour, place, log, kind, t1, t2, t3, t4, t5, t6):
    if kind == FLIP:  # t1 [t2 .. t4] t3 becomes t1 [t4 .. t2] t3: only two edges
        flip(tour, place, log, t1, t2, t4)
    elif kind == FLIPS:  # the same, and then t1 [t4 .. t6] t5 becomes t1 [t6 .. t4] t5
        flip(tour, place, log, t1, t2, t4)
        flip(tour, place, log, t1, t4, t6)
    elif kind == SWAP:  # t1 [t2 .. t5][t6 .. t3] t4 becomes t1 [t6 .. t3][t2 .. t5] t4
        flip(tour, place, log, t1, t2, t3)
        flip(tour, place, log, t1, t3, t6)
        flip(tour, place, log, t3, t5, t2)
    else:  # TURN: t1 [t2 .. t6][t5 .. t3] t4 becomes t1 [t6 .. t2][t3 .. t5] t4
        flip(tour, place, log, t1, t2, t6)
        flip(tour, place, log, t2, t5, t3)


@compiled
def best_exchange(tour, place, d, near, t1, t2, gained, tiny):
    """The first exchange that begins with t1, t2 and makes the tour shorter; else the one that gains most before it is closed.

    `gained`: by what went and came before, (t1, t2) being gone. Returns kind (0: none), t3 to t6, the gain without the closing
    edge (t6, t1), and the gain with it. That it must be positive before each new edge is the rule that keeps the search short.
    """
    by = 1 if beside(tour, place, t1, 1) == t2 else -1
    best = (0, t1, t1, t1, t1, 0.0, 0.0)
    for t3 in near[t2]:
        if gained - d[t2, t3] <= tiny:
            break
        for side in (-by, by):
            t4 = beside(tour, place, t3, side)
            if t3 == t1 or t4 == t2 or (side == by and t4 == t1):
                continue
            open_two = gained - d[t2, t3] + d[t3, t4]
            if side == -by and open_two - d[t4, t1] > tiny:
                return FLIP, t3, t4, t3, t4, open_two, open_two - d[t4, t1]
            for t5 in near[t4]:
                if open_two - d[t4, t5] <= tiny:
                    break
                inside = between(place, by, t2, t5, t4 if side == -by else t3)
                for way in (by, -by):
                    kind = kind_of(by, side, way, inside, t2, t3, t4, t5)
                    if kind == 0:
                        continue
                    t6 = beside(tour, place, t5, way)
                    open_three = open_two - d[t4, t5] + d[t5, t6]
                    closed = open_three - d[t6, t1]
                    if closed > tiny:
                        return kind, t3, t4, t5, t6, open_three, closed
                    if open_three > best[5] and t6 != t1:
                        best = (kind, t3, t4, t5, t6, open_three, closed)
    return best


@compiled
def kind_of(by, side, way, inside, t2, t3, t4, t5):
    """Which exchange it is if t4 lies on that side of t3 and t6 that way from t5; 0 if the result would not be one tour."""
    if side == -by:  # t1 [t2 .. t4] t3: the piece is turned, so t6 lies on the other side if t5 is in it
        if (way == by) != inside or t5 == (t4 if inside else t3):
            return 0
        return FLIPS
    if not inside or t5 == (t3 if way == by else t2):  # t1 [t2 .. t3] t4: the piece must be cut
        return 0
    return SWAP if way == by else TURN


@compiled
def chain(tour, place, d, near, log, t1, by, tiny, touched):
    """A chain of exchanges that begins with t1 and the city beside it. Returns the gain; 0: the tour is as before.

    The cities whose edges changed are touched[1], touched[2], …, up to touched[0] - 1.
    """
    mark = log[0, 0]
    t2 = beside(tour, place, t1, by)
    gained = d[t1, t2]
    touched[0], touched[1], touched[2] = 3, t1, t2
    for _ in range(ROUNDS):
        kind, t3, t4, t5, t6, gained, closed = best_exchange(tour, place, d, near, t1, t2, gained, tiny)
        if kind == 0:
            break
        exchange(tour, place, log, kind, t1, t2, t3, t4, t5, t6)
        for city in (t3, t4, t5, t6):
            touched[touched[0]] = city
            touched[0] += 1
        if closed > tiny:
            return closed
        t2 = t6
    undo(tour, place, log, mark)
    return 0.0


# --------------------------------------------------------------------------------------------------------------------
# The local search


@compiled
def push(queue, waiting, ends, city):
    """Put a city into the ring of those whose edges are to be looked at."""
    if not waiting[city]:
        waiting[city] = True
        queue[ends[1] % len(queue)] = city
        ends[1] += 1


@compiled
def repair(tour, place, d, near, log, queue, waiting, ends, tiny, touched, keep_log):
    """Make the tour shorter until no waiting city begins a chain that does. Returns the gain."""
    total = 0.0
    while ends[0] < ends[1]:
        t1 = queue[ends[0] % len(queue)]
        ends[0] += 1
        waiting[t1] = False
        if log[0, 0] > MAX_FLIPS // 2:
            continue
        for by in (1, -1):
            gain = chain(tour, place, d, near, log, t1, by, tiny, touched)
            if gain > 0:
                total += gain
                for k in range(1, touched[0]):
                    push(queue, waiting, ends, touched[k])
                break
        if not keep_log:
            log[0, 0] = 0
    return total


@compiled
def disturb(tour, place, d, log, queue, waiting, ends, reach, random):
    """Let two neighbouring pieces of the tour, at a random place, change places. Returns how much longer the tour is."""
    n = len(tour)
    i = random_below(random, n)
    j = i + 1 + random_below(random, reach)
    k = j + 1 + random_below(random, reach)
    t1, t2 = tour[i], tour[(i + 1) % n]
    t5, t6 = tour[j % n], tour[(j + 1) % n]
    t3, t4 = tour[k % n], tour[(k + 1) % n]
    exchange(tour, place, log, SWAP, t1, t2, t3, t4, t5, t6)
    for city in (t1, t2, t3, t4, t5, t6):
        push(queue, waiting, ends, city)
    return d[t2, t3] + d[t4, t5] + d[t6, t1] - d[t1, t2] - d[t3, t4] - d[t5, t6]
