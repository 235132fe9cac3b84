"""Results on the disk: nothing that is damaged, foreign, doubled or impossible becomes a number of a table."""

import json

import numpy as np
import pytest

from runs.collect import read_file, read_results
from runs.result import FORMAT, as_lines, from_lines, is_whole, problem_of, signed
from tests.runs.records import changed, damaged, pair_record, record

RUNS = [
    record(seed=41),
    record(seed=95, accuracy=75.5, total_time_hr=1.25e-7),
    record("table3/MLP-none-L4", seed=41, fold=0),
    record("table3/MLP-none-L4", seed=41, fold=1, status="OOM", metrics=None, params=None),
    pair_record(),
]


def test_a_whole_record_has_no_problem():
    assert [problem_of(run) for run in RUNS] == [""] * len(RUNS)


def test_lines_give_back_the_records():
    text = as_lines(RUNS)
    assert from_lines(text) == (RUNS, [])
    assert as_lines(from_lines(text)[0]) == text
    assert text.count('"config"') == 3  # a header for each configuration, then its runs
    assert from_lines("") == ([], [])


def test_runs_of_one_configuration_may_differ_in_name_and_measures():
    """One identity in two tables, or a metric that was added later: every record comes back as it was."""
    more = {"name": "Hits@50", "better": "max", "digits": 3, "percent": True, "low": 0, "high": 100}
    later = record(
        seed=12, measures=[*record()["measures"], more], metrics={"last": {"test": {"loss": 0.1, "Hits@50": 7.0}}}
    )
    runs = [record(seed=41), record(seed=95, name="table9/the-same"), later, record(seed=35)]
    assert from_lines(as_lines(runs)) == (runs, [])


# --------------------------------------------------------------------------------------------------------------------
# What cannot be, although its checksum is right

LAST = ("metrics", "last", "test")
IMPOSSIBLE = [
    (changed(record(), *LAST, "accuracy", value=108.0), "last, test: accuracy=108.0: impossible"),
    (changed(record(), *LAST, "accuracy", value=-0.1), "accuracy=-0.1: impossible"),
    (changed(record(), *LAST, "accuracy", value=True), "accuracy=True: impossible"),
    (changed(record(), *LAST, "accuracy", value="50"), "accuracy='50': impossible"),
    (changed(record(), *LAST, "accuracy", value=None), "accuracy=None: impossible"),
    (changed(record(), *LAST, "F1", value=0.5), "F1=0.5: impossible"),  # a metric that it does not declare
    (changed(record(), "epochs", value=-3), "epochs=-3: impossible"),
    (changed(record(), "epochs", value=[3]), "epochs=[3]: impossible"),
    (changed(record(), "epoch_time_s", value=-1.0), "epoch_time_s=-1.0: impossible"),
    (changed(record(), "params", value=-1), "params=-1: impossible"),
    (changed(record(), "seed", value=-1), "seed=-1: impossible"),
    (changed(record(), "seed", value=10**400), "damaged: OverflowError"),
    (changed(record(), "seed", value=1.5), "seed=1.5: expected int"),
    (changed(record(), "seed", value=[1]), "seed=[1]: expected int"),
    (changed(record(), "fold", value=None), "fold=None: expected int"),
    (changed(record(), "config", "net", "L", value=5), "its configuration has another identity"),
    (changed(record(), "config", value=[]), "config=[]: expected dict"),
    (changed(record(), "id", value="0" * 16), "its configuration has another identity"),
    (changed(record(), "select", value="best"), "the metrics of best are missing"),
    (changed(record(), "metrics", value=None), "damaged: TypeError"),
    (changed(record(), "metrics", "last", value=[1]), "damaged: AttributeError"),
    (changed(record(), "measures", value=[{"name": "accuracy"}]), "damaged: TypeError"),
    (changed(record(), "measures", value=[3]), "damaged: TypeError"),
    (changed(record(), "dataset", value="CSL"), "dataset='CSL': expected dict"),
    (
        signed({key: value for key, value in record().items() if key not in ("epochs", "sum")}),
        "damaged: KeyError 'epochs'",
    ),
    (
        changed(pair_record(), "metrics", "exact", "distinguished", "Basic", value=4),
        "exact, Basic: 4 of 3 pairs: impossible",
    ),
    (changed(pair_record(), "metrics", "exact", "distinguished", "Total", value=-1), "-1 of 7 pairs: impossible"),
    (changed(pair_record(), "metrics", "exact", "distinguished", "CFI", value=0), "CFI: 0 of None pairs: impossible"),
    (changed(pair_record(), "n_pairs", value=None), "damaged: TypeError"),
    (changed(record(), "format", value=FORMAT - 1), "not a result of this project"),
]


@pytest.mark.parametrize(("wrong", "message"), IMPOSSIBLE, ids=lambda x: x if isinstance(x, str) else "")
def test_impossible_records_are_named(wrong, message):
    assert message in problem_of(wrong)


@pytest.mark.parametrize(("wrong", "message"), IMPOSSIBLE, ids=lambda x: x if isinstance(x, str) else "")
def test_an_impossible_line_is_left_out_and_the_others_stay(wrong, message):
    good = record("table3/MLP-none-L4")
    records, problems = from_lines(as_lines([good]) + as_lines([wrong]))
    assert records == [good] and problems and all(problem.startswith("line ") for problem in problems)


def test_numbers_that_json_does_not_have():
    """Python writes and reads NaN all the same; there is no checksum of it."""
    for value in (float("nan"), float("inf")):
        wrong = {**record(), "epochs": value}
        assert problem_of(wrong) == "damaged: its checksum is wrong" and not is_whole({**wrong, "sum": None})
        for sum in (record()["sum"], None):
            text = as_lines([record(seed=95)]) + json.dumps(
                {"format": FORMAT, "id": wrong["id"], "epochs": value, "sum": sum}
            )
            assert from_lines(text) == ([record(seed=95)], ["line 3: damaged: its checksum is wrong"])


def test_the_number_of_a_metric_may_be_off_by_rounding_only():
    assert problem_of(changed(record(), *LAST, "accuracy", value=100 + 1e-10)) == ""
    assert problem_of(changed(record(), *LAST, "accuracy", value=100.001)) != ""


# --------------------------------------------------------------------------------------------------------------------
# Lines of a file


def lines_of(*records):
    return as_lines(records).splitlines(keepends=True)


def test_a_flipped_digit_is_noticed():
    """The number that a table would have printed: 50 % -> 58 %."""
    text = as_lines([record()]).replace('"accuracy": 50.0', '"accuracy": 58.0', 1)
    assert from_lines(text) == ([], ["line 2: damaged: its checksum is wrong"])


def test_a_doubled_line_counts_once_and_is_named():
    header, first, second = lines_of(record(seed=41), record(seed=95))
    records, problems = from_lines(header + first + second + first)
    assert records == [record(seed=41), record(seed=95)]
    assert problems == ["line 4: line 2 is of the same run: remove one"]


def test_a_line_of_the_same_run_with_another_number_is_named():
    records, problems = from_lines("".join(lines_of(record(), record(accuracy=60.0))))
    assert records == [record()] and problems == ["line 3: line 2 is of the same run: remove one"]


def test_lines_in_another_order_are_the_same_runs():
    """A run says of which configuration it is: it does not matter below which header it stands."""
    a_header, a, b_header, b = lines_of(record(), record("table3/MLP-none-L4"))
    assert from_lines(a_header + b_header + b + a) == ([record("table3/MLP-none-L4"), record()], [])


def test_without_its_header_a_run_is_named():
    header, first, second = lines_of(record(seed=41), record(seed=95))
    missing = "no header of its configuration stands before it"
    assert from_lines(first + header + second) == ([record(seed=95)], [f"line 1: {missing}"])
    other = lines_of(record("table3/MLP-none-L4"))[0]
    assert from_lines(other + first + second) == ([], [f"line 2: {missing}", f"line 3: {missing}"])


def test_headers_of_two_configurations_with_their_ids_swapped():
    a, b = record(), record("table3/MLP-none-L4")
    swapped = [signed({**json.loads(lines_of(x)[0]), "id": y["id"]}) for x, y in ((a, b), (b, a))]
    text = "".join(json.dumps(line) + "\n" for line in swapped) + lines_of(a)[1] + lines_of(b)[1]
    records, problems = from_lines(text)
    assert not records and len(problems) == 2 and "another identity" in problems[0]


@pytest.mark.parametrize(
    "line",
    ["{", "[]", "null", "3", '"text"', "{}", "[" * 100_000, "x", '{"format": 2}', '{"format": 2, "id": []}', " "],
)
def test_foreign_lines_are_named_and_left_out(line):
    text = f"{line}\n" + as_lines(RUNS)
    records, problems = from_lines(text)
    assert records == RUNS and len(problems) == 1 and problems[0].startswith("line 1: ")


def test_signed_lines_with_ids_and_seeds_of_any_type():
    header, run = (json.loads(line) for line in lines_of(record()))
    for value in ([], {}, None, 3, True):
        wrong = [
            signed({**header, "id": value}),
            signed({**run, "id": value}),
            signed({**run, "seed": value if value != 3 else "3"}),
        ]
        text = "".join(json.dumps(line) + "\n" for line in (header, *wrong))
        assert from_lines(text)[0] == [] and len(from_lines(text)[1]) == 3


def flips(n, size, seed):
    random = np.random.RandomState(seed)
    return zip(random.randint(0, size, n), random.randint(0, 8, n), strict=True)


def test_a_flipped_bit_never_changes_a_number_silently(tmp_path):
    """Some hundred flips of one bit: no traceback, every record that is read equals an original one, the others are named."""
    path = tmp_path / "results.jsonl"
    good = as_lines(RUNS).encode()
    n_lost = []
    for place, bit in flips(600, len(good), seed=16):
        spoiled = bytearray(good)
        spoiled[place] ^= 1 << bit
        path.write_bytes(spoiled)
        records, problems = read_results([path])
        assert all(record in RUNS for record in records), (place, bit)
        assert len(records) == len(RUNS) or problems, (place, bit)
        n_lost.append(len(RUNS) - len(records))
    assert max(n_lost) <= 2  # a line, or a header with its two runs
    assert sum(n_lost) > 600


def test_a_flipped_bit_of_a_result_file(tmp_path):
    path = tmp_path / "result.json"
    good = (json.dumps(record(), indent=2) + "\n").encode()
    for place, bit in flips(300, len(good), seed=17):
        spoiled = bytearray(good)
        spoiled[place] ^= 1 << bit
        path.write_bytes(spoiled)
        records, problems = read_file(path)
        assert records in ([], [record()]) and bool(records) != bool(problems), (place, bit)


def test_a_file_that_is_cut_off_at_every_line_and_byte(tmp_path):
    good = as_lines(RUNS[:2])
    for end in range(0, len(good), 7):
        records, problems = from_lines(good[:end])
        assert all(record in RUNS for record in records) and len(problems) <= 1


def test_damaged_helpers_do_what_they_say():
    """The helper of these tests: a number is changed, the checksum is not."""
    wrong = damaged(record(), *LAST, "accuracy", value=58.0)
    assert (
        wrong["metrics"]["last"]["test"]["accuracy"] == 58.0 and record()["metrics"]["last"]["test"]["accuracy"] == 50.0
    )
    assert problem_of(wrong) == "damaged: its checksum is wrong"
