"""Results are read from folders of runs and from results/, and added there once: only what is new, never a damaged file changed."""

import json

import pytest

from runs import collect
from runs.collect import add_results, by_id, file_of, read_results
from runs.files import RunError
from runs.result import as_lines, from_lines
from tests.runs.records import changed, damaged, pair_record, record

EARLY, LATE = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"
TABLE3 = "benchmarking_gnns/table3.jsonl"


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def results(tmp_path):
    return tmp_path / "results"


def put(folder, *records, name="a run"):
    """Records as run folders leave them."""
    for one in records:
        path = folder / one["config"]["dataset"] / f"{name}-{one['id']}" / f"seed_{one['seed']}" / f"fold_{one['fold']}"
        path.mkdir(parents=True, exist_ok=True)
        (path / "result.json").write_text(json.dumps(one))


def in_file(path):
    return from_lines(path.read_text())[0]


# --------------------------------------------------------------------------------------------------------------------
# Reading


def test_folders_of_runs_and_collected_lines_are_read_alike(out, results):
    put(out, record(seed=1), record(seed=2))
    results.mkdir()
    (results / "any.jsonl").write_text(as_lines([record(seed=3), pair_record()]))
    records, problems = read_results([out, results])
    assert not problems and {(r["id"], r["seed"]) for r in records} == {
        (record()["id"], seed) for seed in (1, 2, 3)
    } | {(pair_record()["id"], 0)}
    assert read_results([results / "any.jsonl"])[0] == [record(seed=3), pair_record()]
    assert [len(group) for group in by_id(records).values()] == [3, 1]


def test_of_a_run_that_was_made_twice_the_newest_counts(out, results):
    put(out, record(accuracy=60.0, finished=LATE))
    results.mkdir()
    (results / "x.jsonl").write_text(as_lines([record(accuracy=50.0, finished=EARLY)]))
    for order in ([out, results], [results, out]):
        assert read_results(order) == ([record(accuracy=60.0, finished=LATE)], [])


def test_a_run_counts_whatever_its_name_is(out):
    """Names are for people: two names, one identity."""
    put(out, record(seed=1, name="table3/GCN-LapPE-L4"), name="one")
    put(out, record(seed=2, name="old_table/old-name"), name="two")
    records, problems = read_results([out])
    assert not problems and len(by_id(records)) == 1 and len(records) == 2


def test_replaced_runs_quick_runs_and_other_files_do_not_count(out):
    put(out, record())
    put(out / "quick", record(seed=2))
    (folder,) = [path.parent for path in out.glob("CSL/*/seed_41/fold_0/result.json")]
    (folder / "replaced-1").mkdir()
    (folder / "replaced-1/result.json").write_text(json.dumps(record(accuracy=1.0, finished=LATE)))
    for name in ("metrics.jsonl", "pairs.jsonl"):
        (folder / name).write_text('{"epoch": 1}\n')
    assert read_results([out]) == ([record()], [])
    assert read_results([out / "quick"]) == ([record(seed=2)], [])  # asked for by name
    put(out / "quick_tries", record(seed=3))  # a folder of the user's
    assert len(read_results([out])[0]) == 2


def test_what_is_wrong_is_named_with_its_place_and_the_rest_stays(out):
    wrong = [
        changed(record(seed=1), "metrics", "last", "test", "accuracy", value=108.0),
        damaged(record(seed=2), "epochs", value=31),
        {**record(seed=3), "format": 1},
    ]
    put(out, record(), *wrong)
    (out / "CSL/empty").mkdir()
    (out / "CSL/empty/result.json").write_text("")
    (out / "CSL/folder/result.json").mkdir(parents=True)
    (out / "CSL/bytes").mkdir()
    (out / "CSL/bytes/result.json").write_bytes(b"\xff\xfe")
    records, problems = read_results([out])
    assert records == [record()] and len(problems) == 6
    words = ["accuracy=108.0: impossible", "checksum is wrong", "not a result", "not readable", "Is a directory"]
    for word, place in zip(words, ("seed_1", "seed_2", "seed_3", "empty", "folder"), strict=True):
        assert any(word in problem and place in problem for problem in problems), word


def test_of_two_results_on_the_same_data_an_early_one_does_not_say_from_what_it_was_made(out):
    """A perturbation that is drawn from the seed has another hash for each, and the same source."""
    data = [{"hash": "1"}, {"hash": "1", "source": "A"}, {"hash": "2", "source": "A"}, {"hash": "3", "source": "B"}]
    for seed, dataset in enumerate(data):
        put(out, record(seed=seed, dataset={"name": "CSL"} | dataset, finished=LATE if seed == 1 else EARLY))
    records, problems = read_results([out])
    assert sorted(r["seed"] for r in records) == [0, 1, 2] and len(problems) == 1


def test_the_newest_result_need_not_be_the_one_that_says_it_is_the_same_data(out):
    data = [{"hash": "1"}, {"hash": "1", "source": "A"}, {"hash": "2", "source": "A"}]
    for seed, dataset in enumerate(data):
        put(out, record(seed=seed, dataset={"name": "CSL"} | dataset, finished=f"2025-01-0{seed + 1}T00:00:00+00:00"))
    records, problems = read_results([out])
    assert sorted(r["seed"] for r in records) == [0, 1, 2] and not problems


def test_runs_on_another_version_of_the_dataset_are_named(out):
    now = {"name": "CSL", "hash": "new"}
    put(out, record(seed=1), record(seed=2), record(seed=3, dataset=now, finished=LATE))
    put(out, record("table3/MLP-none-L4", seed=1))  # of another configuration, which has no newer one
    records, problems = read_results([out])
    assert sorted(r["seed"] for r in records if r["id"] == record()["id"]) == [3] and len(records) == 2
    (problem,) = problems
    assert "2 results of table3/GCN-LapPE-L4: on another version of the dataset than the newest" in problem


# --------------------------------------------------------------------------------------------------------------------
# Adding


def test_a_result_goes_to_the_file_of_its_table():
    assert file_of(record()) == TABLE3
    assert file_of(pair_record()) == "brec/brec_table2.jsonl"
    on_another = record("table2_ZINC/GCN-L4", changes={"dataset": "ZINC-redrawn"})
    assert file_of(on_another) == "benchmarking_gnns/table2_ZINC.jsonl"
    assert file_of(record(changes={"net.L": 9})) == "other.jsonl"
    assert file_of(record("table3/GatedGCN-none-L4")) == file_of(record("table7_CSL/No_PE"))  # one run of two tables


def test_a_result_on_a_sample_goes_to_the_table_of_the_whole():
    """GatedGCN has the same settings on both sets of superpixels."""
    for name, table in (("PascalVOC-SP-300", "lrgb_table3_VOC"), ("COCO-SP-188", "lrgb_table3_COCO")):
        for row in ("lrgb_table3_VOC/GatedGCN", "lrgb_table3_COCO/GatedGCN"):
            assert file_of(record(row, changes={"dataset": name})) == f"lrgb/{table}.jsonl"


def test_only_what_is_new_is_added(out, results):
    put(out, record(seed=1), record(seed=2), record(changes={"net.L": 9}))
    assert add_results([out], results) == ({TABLE3: 2, "other.jsonl": 1}, [])
    before = (results / TABLE3).read_bytes()
    assert add_results([out], results) == ({}, []) and (results / TABLE3).read_bytes() == before
    put(out, record(seed=3))
    assert add_results([out], results) == ({TABLE3: 1}, [])
    assert in_file(results / TABLE3) == [record(seed=1), record(seed=2), record(seed=3)]


def test_a_file_depends_on_its_runs_and_not_on_the_order_in_which_they_came(out, results, tmp_path):
    runs = [record(seed=1), record("table3/MLP-none-L4", seed=1), record(seed=2), record(seed=1, fold=1)]
    for one in runs:
        put(out, one)
        add_results([out], results)
    put(tmp_path / "other order", *reversed(runs))
    add_results([tmp_path / "other order"], tmp_path / "again")
    assert (results / TABLE3).read_text() == (tmp_path / "again" / TABLE3).read_text()


def test_what_was_run_again_takes_the_place_of_the_older(out, results):
    put(out, record(seed=1), record(seed=2))
    add_results([out], results)
    put(out, record(seed=1, accuracy=70.0, finished=LATE))
    assert add_results([out], results) == ({TABLE3: 1}, [])
    assert in_file(results / TABLE3) == [record(seed=1, accuracy=70.0, finished=LATE), record(seed=2)]
    put(out, record(seed=1, accuracy=10.0, finished=EARLY))  # an older one that turns up later
    assert add_results([out], results) == ({}, [])


def test_a_run_whose_table_has_changed_stays_where_it_is(out, results):
    """Its configuration was in no table when it was added."""
    (results).mkdir()
    (results / "other.jsonl").write_text(as_lines([record(seed=1)]))
    put(out, record(seed=1, finished=LATE), record(seed=2))
    assert add_results([out], results) == ({"other.jsonl": 1, TABLE3: 1}, [])
    assert len(read_results([results])[0]) == 2 and in_file(results / "other.jsonl") == [record(seed=1, finished=LATE)]


def test_runs_on_a_new_version_of_the_dataset_can_be_added(out, results):
    """Beside those on the old one, which are then named when tables are made."""
    put(out, record(seed=1), record(seed=2))
    add_results([out], results)
    now = {"name": "CSL", "hash": "new"}
    put(out, record(seed=1, dataset=now, finished=LATE))
    added, problems = add_results([out], results)
    assert added == {TABLE3: 1} and "on another version of the dataset" in problems[0]
    put(out, record(seed=3, dataset=now, finished=LATE))
    assert add_results([out], results)[0] == {TABLE3: 1}
    assert sorted(r["seed"] for r in read_results([results])[0]) == [1, 3]


def test_names_that_have_changed_do_not_get_lost(out, results):
    put(out, record(seed=1, name="old/name"))
    add_results([out], results)
    put(out, record(seed=2))
    add_results([out], results)
    assert {r["seed"]: r["name"] for r in in_file(results / TABLE3)} == {1: "old/name", 2: "table3/GCN-LapPE-L4"}


@pytest.mark.parametrize(
    "spoil", [lambda text: text[:-20], lambda text: text.replace("50.0", "58.0", 1), lambda text: text + "x\n"]
)
def test_a_damaged_file_is_left_alone_and_named(out, results, spoil, capsys):
    put(out, record(seed=1), record(changes={"net.L": 9}))
    add_results([out], results)
    spoiled = spoil((results / TABLE3).read_text())
    (results / TABLE3).write_text(spoiled)
    put(out, record(seed=2), record(seed=5, changes={"net.L": 9}))
    other = (results / "other.jsonl").read_text()
    with pytest.raises(RunError, match=r"table3\.jsonl: line \d: .*: repair this file first, nothing was added"):
        add_results([out], results)
    assert (results / TABLE3).read_text() == spoiled and (results / "other.jsonl").read_text() == other
    with pytest.raises(SystemExit, match=r"error: .*table3\.jsonl: line"):
        collect.main([str(out), "--into", str(results)])


def test_what_is_wrong_in_a_run_folder_is_not_added(out, results, capsys):
    put(out, record(seed=1), changed(record(seed=2), "epochs", value=-1))
    assert collect.main([str(out), "--into", str(results)]) == 0
    printed = capsys.readouterr()
    assert (
        printed.out == f"{TABLE3}: 1 new\n" and "left out: " in printed.err and "epochs=-1: impossible" in printed.err
    )
    assert in_file(results / TABLE3) == [record(seed=1)]
    assert collect.main([str(out), "--into", str(results)]) == 0 and capsys.readouterr().out == "nothing new\n"


def test_a_folder_that_is_not_there(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        collect.main([str(tmp_path / "nowhere")])
    assert stop.value.code == 2 and "nowhere: no such folder" in capsys.readouterr().err


def test_our_own_results_are_whole():
    records, problems = read_results([collect.RESULTS])
    assert len(records) >= 1019 and not problems
