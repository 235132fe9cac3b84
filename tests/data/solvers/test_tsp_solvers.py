"""Our solver finds tours as short as known optima; the files and programs of other solvers are understood."""

import os
import zipfile
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from data.errors import DataError
from data.solvers import tsp_solvers
from data.solvers.lin_kernighan import length, shortest_tour
from data.solvers.tsp_solvers import distances, read_solution, solve_concorde, write_tsplib
from data.TSP import TSP

ROOT = Path(__file__).resolve().parents[3]
RAW = Path(os.environ.get("GNN_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.parametrize("n", range(1, 9))
def test_small_tours_are_the_best_of_all(n):
    for seed in range(8):
        d = distances(np.random.RandomState(seed).rand(n, 2))
        best = min(length(d, np.array([0, *rest])) for rest in permutations(range(1, n)))
        assert length(d, shortest_tour(d, 10 * n, seed)) == pytest.approx(best, abs=1e-12)


def two_opt(d):
    """Nearest neighbour, then all exchanges of two edges, one after the other, until none helps."""
    n, tour = len(d), [0]
    while len(tour) < n:
        tour.append(min(set(range(n)) - set(tour), key=lambda city: d[tour[-1], city]))
    better = True
    while better:
        better = False
        for i in range(n - 1):
            for j in range(i + 2, n - (i == 0)):
                a, b, c, e = tour[i], tour[i + 1], tour[j], tour[(j + 1) % n]
                if d[a, c] + d[b, e] < d[a, b] + d[c, e] - 1e-12:
                    tour[i + 1 : j + 1] = tour[i + 1 : j + 1][::-1]
                    better = True
    return np.array(tour)


@pytest.mark.parametrize("n", [12, 30, 60])
def test_never_worse_than_nearest_neighbour_and_two_opt(n):
    for seed in range(4):
        d = distances(np.random.RandomState(seed).rand(n, 2))
        tour = shortest_tour(d, 10 * n, seed)
        assert sorted(tour.tolist()) == list(range(n))
        assert length(d, tour) <= length(d, two_opt(d)) + 1e-12


@pytest.mark.parametrize(
    "points",
    [np.zeros((9, 2)), np.repeat(np.random.RandomState(0).rand(5, 2), 4, axis=0), np.mgrid[0:6, 0:6].reshape(2, -1).T],
    ids=["one place", "places with several cities", "grid"],
)
def test_equal_distances_do_no_harm(points):
    tour = shortest_tour(distances(points), 50 * len(points), 0)
    assert sorted(tour.tolist()) == list(range(len(points)))
    if len(points) == 36:  # an even grid has a tour of steps of length 1
        assert length(distances(points), tour) == pytest.approx(36)


def test_the_same_seed_gives_the_same_tour():
    d = distances(np.random.RandomState(1).rand(80, 2))
    assert np.array_equal(shortest_tour(d, 200, 3), shortest_tour(d, 200, 3))


# All 16 instances of up to 500 cities were solved to optimality; 0.5 % leaves room for another machine's rounding.
@pytest.mark.parametrize(("name", "optimum"), [("berlin52", 7542), ("eil51", 426), ("kroA100", 21282), ("a280", 2579)])
def test_known_optima(name, optimum):
    archive = RAW / "TSPLIB" / "tsplib.zip"
    if not archive.exists():
        pytest.skip(f"{archive} is not there")
    with zipfile.ZipFile(archive) as file:
        text = file.read(f"{name}.tsp").decode()
    lines = text.split("NODE_COORD_SECTION")[1].split("EOF")[0].strip().splitlines()
    d = np.floor(distances(np.array([line.split()[1:3] for line in lines], float)) + 0.5)  # TSPLIB's metric EUC_2D
    found = length(d, shortest_tour(d, TSP.parameters["effort"]["iterations_per_city"] * len(d), 0))
    assert optimum <= found <= 1.005 * optimum


@pytest.mark.skipif(tsp_solvers.shutil.which("concorde") is None, reason="concorde is not installed")
def test_the_real_concorde():
    points = np.random.RandomState(0).rand(60, 2)
    d = distances(points)
    assert length(d, solve_concorde(points, 0)) <= length(d, shortest_tour(d, 6000, 0)) + 1e-4


def test_a_solution_of_several_lines(tmp_path):
    (tmp_path / "a.sol").write_text("4\n0 2 \n3 1 \n")
    assert read_solution(tmp_path / "a.sol", 4).tolist() == [0, 2, 3, 1]
    write_tsplib(tmp_path / "a.tsp", [[0.5, 0.25], [0, 1]])
    assert (tmp_path / "a.tsp").read_text().splitlines()[-3:] == ["1 500000 250000", "2 0 1000000", "EOF"]


@pytest.mark.parametrize("cities", ["0 1 2 18446744073709551616", "0 999999999999 999999999999 999999999999 2 1"])
def test_a_wrong_solution_is_named_in_one_line(tmp_path, cities):
    (tmp_path / "a.sol").write_text(f"4\n{cities}\n")
    with pytest.raises(DataError, match=r"\A.*\Z"):
        tsp_solvers.check_tour(read_solution(tmp_path / "a.sol", 4), 4, "concorde")


def test_a_single_number_is_no_tour():
    with pytest.raises(DataError, match=r"does not visit each of them once: \[3\]"):
        tsp_solvers.check_tour(np.array(3), 4, "here")


def test_elkai_agrees_with_our_solver():
    pytest.importorskip("elkai")
    points = np.random.RandomState(0).rand(60, 2)
    d = distances(points)
    ours = length(d, shortest_tour(d, 6000, 0))
    assert length(d, tsp_solvers.solve_elkai(points, 0, runs=10)) == pytest.approx(ours, rel=1e-3)
