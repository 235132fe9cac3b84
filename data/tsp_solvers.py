"""Solvers of the travelling salesman problem: the shortest round trip through all cities, for the labels of TSP (A.3)."""

import numba
import numpy as np

TINY = 1e-9  # shorter by less than this share of a mean distance is rounding, not progress
MAX_FLIPS = 50_000  # room of the log of flips; a repair that fills it is given up
compiled = numba.njit(cache=True)


@compiled
def next_random(state):
    """Xorshift: 63 random bits, the same on every machine and with every numba."""
    x = state[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    state[0] = x
    return np.int64(x >> np.uint64(1))


@compiled
def step(tour, place, city, by):
    """The city beside `city` on the tour: the next (by = 1) or the one before (by = -1)."""
    i = place[city] + by
    n = len(tour)
    return tour[i - n if i >= n else i + n if i < 0 else i]


@compiled
def reverse(tour, place, i, j):
    """Reverse the tour from place i to place j, across its end if j < i."""
    n = len(tour)
    inner = j - i + 1
    if inner <= 0:
        inner += n
    for _ in range(inner // 2):
        a, b = tour[i], tour[j]
        tour[i], tour[j] = b, a
        place[b], place[a] = i, j
        i += 1
        if i == n:
            i = 0
        j -= 1
        if j < 0:
            j = n - 1


@compiled
def flip(tour, place, log, before, first, last):
    """Turn round the piece first .. last of the tour, `before` being the city outside it beside `first`.

    Turning all the rest round gives the same tour read backwards; the shorter part is turned, and written into the log.
    """
    n = len(tour)
    if first == last:
        return
    if step(tour, place, before, 1) == first:
        i, j = place[first], place[last]
    else:
        i, j = place[last], place[first]
    inner = j - i + 1
    if inner <= 0:
        inner += n
    if 2 * inner > n:
        i, j = (j + 1) % n, (i - 1 + n) % n
    reverse(tour, place, i, j)
    log[0, 0] += 1
    log[log[0, 0], 0] = i
    log[log[0, 0], 1] = j


@compiled
def undo(tour, place, log, down_to):
    """Take back the flips of the log until `down_to` are left."""
    while log[0, 0] > down_to:
        reverse(tour, place, log[log[0, 0], 0], log[log[0, 0], 1])
        log[0, 0] -= 1


@compiled
def between(place, by, a, b, c):
    """Is b met on the way from a to c, read in the direction `by`?"""
    if by < 0:
        a, c = c, a
    if place[a] <= place[c]:
        return place[a] <= place[b] <= place[c]
    return place[b] >= place[a] or place[b] <= place[c]


TWO, SWAP, TURN, FLIPS = 1, 2, 3, 4  # the exchanges, see `exchange`


@compiled
def best_exchange(tour, place, d, near, t1, t2, removed, tiny):
    """Where the edge (t1, t2) is removed, with `removed` gained so far: the first exchange of two or three edges after which the tour is
    shorter, else the one that leaves most to go on with. Returns its kind, its cities, what is gained before it is closed with
    (t1, t6), and what is gained after that."""
    by = 1 if step(tour, place, t1, 1) == t2 else -1
    best = (0, t1, t1, t1, t1, tiny, 0.0)
    for a in range(near.shape[1]):
        t3 = near[t2, a]
        g1 = removed - d[t2, t3]
        if g1 <= tiny:
            break
        for side in (-by, by):
            t4 = step(tour, place, t3, side)
            if t3 == t1 or t4 == t2 or (t4 == t1 and side == by):
                continue
            g2 = g1 + d[t3, t4]
            if side == -by and g2 - d[t4, t1] > tiny:
                return TWO, t3, t4, t3, t4, g2, g2 - d[t4, t1]
            for b in range(near.shape[1]):
                t5 = near[t4, b]
                g3 = g2 - d[t4, t5]
                if g3 <= tiny:
                    break
                inside = between(place, by, t2, t5, t4 if side == -by else t3)
                for other in (by, -by):
                    if side == -by:
                        if (other == by) != inside:
                            continue
                        if (inside and t5 == t4) or (not inside and t5 == t3):
                            continue
                        kind = FLIPS
                    else:
                        if not inside or (other == by and t5 == t3) or (other == -by and t5 == t2):
                            continue
                        kind = SWAP if other == by else TURN
                    t6 = step(tour, place, t5, other)
                    g4 = g3 + d[t5, t6]
                    gain = g4 - d[t6, t1]
                    if gain > tiny:
                        return kind, t3, t4, t5, t6, g4, gain
                    if g4 > best[5] and t6 != t1:
                        best = (kind, t3, t4, t5, t6, g4, gain)
    return best


@compiled
def exchange(tour, place, log, kind, t1, t2, t3, t4, t5, t6):
    """Make an exchange."""
    if kind == TWO:  # t1 [t2 .. t4] t3 -> t1 [t4 .. t2] t3
        flip(tour, place, log, t1, t2, t4)
    elif kind == FLIPS:  # the same, then t1 [t4 .. t6] t5 -> t1 [t6 .. t4] t5
        flip(tour, place, log, t1, t2, t4)
        flip(tour, place, log, t1, t4, t6)
    elif kind == SWAP:  # t1 [t2 .. t5][t6 .. t3] t4 -> t1 [t6 .. t3][t2 .. t5] t4
        flip(tour, place, log, t1, t2, t3)
        flip(tour, place, log, t1, t3, t6)
        flip(tour, place, log, t3, t5, t2)
    else:  # t1 [t2 .. t6][t5 .. t3] t4 -> t1 [t6 .. t2][t3 .. t5] t4
        flip(tour, place, log, t1, t2, t6)
        flip(tour, place, log, t2, t5, t3)


@compiled
def chain(tour, place, d, near, log, t1, by, rounds, tiny, touched):
    mark = log[0, 0]
    t2 = step(tour, place, t1, by)
    removed = d[t1, t2]
    touched[1] = t1
    touched[2] = t2
    touched[0] = 3
    for _ in range(rounds):
        kind, t3, t4, t5, t6, removed, gain = best_exchange(tour, place, d, near, t1, t2, removed, tiny)
        if kind == 0:
            break
        exchange(tour, place, log, kind, t1, t2, t3, t4, t5, t6)
        n = touched[0]
        touched[n], touched[n + 1], touched[n + 2], touched[n + 3] = t3, t4, t5, t6
        touched[0] += 4
        if gain > tiny:
            return gain
        t2 = t6
    undo(tour, place, log, mark)
    return 0.0


@compiled
def push(queue, waiting, ends, city):
    if not waiting[city]:
        waiting[city] = True
        queue[ends[1] % len(queue)] = city
        ends[1] += 1


@compiled
def repair(tour, place, d, near, log, queue, waiting, ends, rounds, tiny, touched, keep):
    total = 0.0
    while ends[0] < ends[1]:
        t1 = queue[ends[0] % len(queue)]
        ends[0] += 1
        waiting[t1] = False
        for by in (1, -1):
            gain = chain(tour, place, d, near, log, t1, by, rounds, tiny, touched)
            if gain > 0:
                total += gain
                for k in range(1, touched[0]):
                    push(queue, waiting, ends, touched[k])
                if not keep:
                    log[0, 0] = 0
                break
    return total


@compiled
def nearest_neighbour_tour(d, start):
    n = len(d)
    tour = np.empty(n, np.int64)
    free = np.ones(n, np.bool_)
    tour[0] = start
    free[start] = False
    for i in range(1, n):
        best = -1
        for c in range(n):
            if free[c] and (best < 0 or d[tour[i - 1], c] < d[tour[i - 1], best]):
                best = c
        tour[i] = best
        free[best] = False
    return tour


@compiled
def search(d, near, iterations, seed, rounds, reach, heat):
    n = len(d)
    state = np.empty(1, np.uint64)
    state[0] = np.uint64(seed) * np.uint64(2862933555777941757) + np.uint64(3037000493)
    tour = nearest_neighbour_tour(d, next_random(state) % n)
    place = np.empty(n, np.int64)
    for i in range(n):
        place[tour[i]] = i
    log = np.zeros((MAX_FLIPS, 2), np.int64)
    queue = np.empty(n, np.int64)
    waiting = np.zeros(n, np.bool_)
    ends = np.zeros(2, np.int64)
    touched = np.empty(4 * rounds + 3, np.int64)
    tiny = TINY * d.mean()
    for i in range(n):
        push(queue, waiting, ends, tour[i])
    repair(tour, place, d, near, log, queue, waiting, ends, rounds, tiny, touched, False)
    reach = min(reach, (n - 2) // 2)
    scale = 0.0
    for i in range(n):
        scale += d[tour[i], tour[i - 1]] / n
    now = 0.0
    lowest = 0.0
    best = tour.copy()
    for it in range(iterations):
        log[0, 0] = 0
        i = next_random(state) % n
        la = 1 + next_random(state) % reach
        lb = 1 + next_random(state) % reach
        t1, t2 = tour[i], tour[(i + 1) % n]
        t5, t6 = tour[(i + la) % n], tour[(i + la + 1) % n]
        t3, t4 = tour[(i + la + lb) % n], tour[(i + la + lb + 1) % n]
        worse = d[t1, t6] + d[t3, t2] + d[t5, t4] - d[t1, t2] - d[t5, t6] - d[t3, t4]
        exchange(tour, place, log, SWAP, t1, t2, t3, t4, t5, t6)
        for t in (t1, t2, t3, t4, t5, t6):
            push(queue, waiting, ends, t)
        worse -= repair(tour, place, d, near, log, queue, waiting, ends, rounds, tiny, touched, True)
        limit = heat * scale * (1.0 - it / iterations) * (next_random(state) % 65536) / 65536.0
        if worse > limit + tiny:
            undo(tour, place, log, 0)
        else:
            now += worse
            if now < lowest - tiny:
                lowest = now
                best[:] = tour
    return best


def neighbours(d, k):
    d = d.copy()
    np.fill_diagonal(d, np.inf)
    return np.argsort(d, axis=1, kind="stable")[:, :k]


def solve_lk(d, iterations_per_city, seed, rounds=3, reach=50, k=8, heat=0.0):
    n = len(d)
    near = neighbours(d, min(k, n - 1))
    return search(d, near, iterations_per_city * n, seed, rounds, reach, heat)
