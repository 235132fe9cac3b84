"""Results whose row's file was changed get the name they have now: nothing is lost, nothing overwritten."""

import json

import filelock
from train.result_files import is_current, read_results

from tests.train.test_tables import result
from train import rename

ROW = "T3-CSL-GCN-LapPE-L4"
CHANGED = f"{ROW}+net.L=8"


def put(folder, name, value, fold=0, **net):
    """A run in the folder of its name, made with the row's configuration as that is now but for these keys."""
    made = result(ROW, 41, value, fold, name=name)
    made["config"]["net"] |= net
    path = folder / "CSL" / name / "seed_41" / f"fold_{fold}" / "result.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(made))
    path.with_name("metrics.jsonl").write_text(str(value))
    return path


def test_a_run_of_the_old_row_and_one_of_the_new_row_change_names(tmp_path, capsys):
    """The row had L = 8 before and has 4 now. Runs with 4 were called so and take the place of those with 8."""
    put(tmp_path, ROW, 10.0, L=8)
    before = f"{ROW}+net.L=4"
    put(tmp_path, before, 20.0)
    put(tmp_path, ROW, 30.0, fold=1)  # as it should be
    assert rename.main([str(tmp_path), "--check"]) == 0 and (tmp_path / "CSL" / before).exists()
    printed = f"{before} -> {ROW}: 1 runs"
    assert printed in capsys.readouterr().out and len(read_results([tmp_path])[1]) == 2
    assert rename.main([str(tmp_path)]) == 0 and printed in capsys.readouterr().out
    results, problems = read_results([tmp_path])
    scores = {(r["name"], r["row"], r["fold"]): r["metrics"]["last"]["test"]["accuracy"] for r in results}
    assert scores == {(CHANGED, None, 0): 10.0, (ROW, ROW, 0): 20.0, (ROW, ROW, 1): 30.0} and not problems
    for path in tmp_path.rglob("result.json"):
        assert is_current(path)
        value = json.loads(path.read_text())["metrics"]["last"]["test"]["accuracy"]
        assert path.with_name("metrics.jsonl").read_text() == str(value)  # the whole folder has moved
    assert not (tmp_path / "CSL" / before).exists()
    assert rename.main([str(tmp_path)]) == 0 and "every result has the name" in capsys.readouterr().out


def test_nothing_is_overwritten(tmp_path, capsys):
    put(tmp_path, ROW, 10.0, L=8)
    put(tmp_path, CHANGED, 20.0, L=8)
    assert rename.main([str(tmp_path)]) == 1
    assert f"{CHANGED}/seed_41/fold_0 is there already" in capsys.readouterr().err
    assert sorted(path.read_text() for path in tmp_path.rglob("metrics.jsonl")) == ["10.0", "20.0"]


def test_a_run_under_way_is_left_alone(tmp_path, capsys):
    path = put(tmp_path, ROW, 10.0, L=8)
    with filelock.FileLock(path.with_name(".lock")):
        assert rename.main([str(tmp_path)]) == 1
    assert "another process is working on it" in capsys.readouterr().err and path.exists()


def test_killed_between_the_two_steps_it_is_taken_up_again(tmp_path):
    path = put(tmp_path, ROW, 10.0, L=8)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"name": CHANGED, "row": None}))
    assert rename.main([str(tmp_path)]) == 0
    assert (tmp_path / "CSL" / CHANGED / "seed_41/fold_0/result.json").exists() and not (
        tmp_path / "CSL" / ROW
    ).exists()


def test_foreign_files_and_old_copies_stay_where_they_are(tmp_path):
    path = put(tmp_path, ROW, 10.0, L=8)
    aside = path.parent / "replaced-1" / "result.json"
    aside.parent.mkdir()
    path.rename(aside)
    path.write_text("{}")
    assert rename.wanted_moves(tmp_path) == []
