"""The solvers that can give the tours of TSP (A.3), by name: our own, Concorde, and elkai (LKH).

A solver is handed the coordinates of the cities and a seed, and returns the order of the cities on its tour.

Deviation: the paper's tours come from Concorde, which its program calls with a rounded geographic metric on coordinates of the
unit square; they share only about 90 % of their edges with the Euclidean optimum. Ours are Euclidean with every solver, and by
default from our own, which is not exact.
"""

import importlib.metadata
import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from data.errors import DataError

SCALE = 1_000_000  # integers that stand for the unit of length, for solvers that compute with integers
LK_VERSION = 1  # of data/solvers/lin_kernighan.py: other tours are another dataset
ELKAI = "2.0.1"
CONCORDE_HELP = (
    "put the program `concorde` on the PATH (https://www.math.uwaterloo.ca/tsp/concorde.html; not PyPI's package of that name), "
    "or use the dataset TSP, which needs no other program"
)
ELKAI_HELP = (
    f"pip install elkai=={ELKAI} (it contains LKH, whose licence allows academic and non-commercial use only), "
    "or use the dataset TSP, whose solver is free"
)


def distances(points):
    """Euclidean distances (n, n) of points (n, 2), in double precision."""
    x, y = np.asarray(points, np.float64).T
    dx, dy = x[:, None] - x, y[:, None] - y
    return np.sqrt(dx * dx + dy * dy)


def solve_lk(points, seed, iterations_per_city):
    from data.solvers.lin_kernighan import shortest_tour  # here: numba is slow to load, and only building needs it

    return shortest_tour(distances(points), iterations_per_city * len(points), seed)


def solve_elkai(points, seed, runs):
    import elkai  # an optional extra

    whole = np.rint(distances(points) * SCALE).astype(np.int64)
    return np.array(elkai.DistanceMatrix(whole.tolist()).solve_tsp(runs=runs)[:-1])  # it comes back to the first city


def solve_concorde(points, seed):
    with tempfile.TemporaryDirectory() as folder:  # it leaves many files behind
        write_tsplib(Path(folder) / "cities.tsp", points)
        words = ["concorde", "-x", "-s", str(seed + 1), "-o", "cities.sol", "cities.tsp"]  # -s 0 would be the clock
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
        solution = Path(folder) / "cities.sol"
        if done.returncode != 0 or not solution.exists():
            raise DataError(
                f"concorde ended with code {done.returncode} and {'a' if solution.exists() else 'no'} tour of {len(points)} "
                f"cities. Its last words: {(done.stdout + done.stderr).strip()[-500:]!r}. Try it by hand, or use the dataset TSP"
            )
        return read_solution(solution, len(points))


def write_tsplib(path, points):
    """A file of the TSPLIB format; its metric EUC_2D rounds distances to integers, so coordinates are scaled up."""
    whole = np.rint(np.asarray(points, np.float64) * SCALE).astype(np.int64)
    lines = ["NAME: cities", "TYPE: TSP", f"DIMENSION: {len(whole)}", "EDGE_WEIGHT_TYPE: EUC_2D", "NODE_COORD_SECTION"]
    lines += [f"{i} {x} {y}" for i, (x, y) in enumerate(whole.tolist(), start=1)]
    path.write_text("\n".join([*lines, "EOF", ""]))


def read_solution(path, n):
    """The tour of a solution file of Concorde: the number of cities, then the cities, counted from 0."""
    try:
        numbers = np.array([int(word) for word in path.read_text().split()], np.int64)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path.name} of concorde: {error}: expected only whole numbers") from error
    if not len(numbers) or numbers[0] != n:
        raise DataError(f"{path.name} of concorde: is of {numbers[:1]} cities: expected {n}")
    return numbers[1:]


def need_numba():
    if importlib.util.find_spec("numba") is None:
        raise DataError("TSP: its solver needs the package numba: pip install -r requirements.txt")


def need_elkai():
    """The version is part of the dataset's identity, so another is not taken for it."""
    if importlib.util.find_spec("elkai") is None:
        raise DataError(f"TSP-elkai: the package elkai is not installed: {ELKAI_HELP}")
    if (found := importlib.metadata.version("elkai")) != ELKAI:
        raise DataError(f"TSP-elkai: elkai {found} is installed, expected {ELKAI}: {ELKAI_HELP}")


def need_concorde():
    if shutil.which("concorde") is None:
        raise DataError(f"TSP-concorde: there is no program `concorde` on the PATH: {CONCORDE_HELP}")


SOLVERS = {
    "lk": (solve_lk, need_numba),
    "elkai": (solve_elkai, need_elkai),
    "concorde": (solve_concorde, need_concorde),
}


def check_tour(tour, n, solver):
    """The tour, which must visit each of n cities once."""
    if tour.shape != (n,) or not np.array_equal(np.sort(tour), np.arange(n)):
        raise DataError(
            f"{solver}: its tour of {n} cities does not visit each of them once: {tour.ravel()[:10].tolist()} ..."
        )
    return tour
