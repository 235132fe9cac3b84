"""Results that do not count: damaged, foreign, doubled, impossible, of older data. Each is named, and no table changes or ends."""

import json

import pytest

from runs.collect import read_results
from runs.result import as_lines, signed
from tables import pages, plot, significance, table
from tests.tables.records import of_net, pair_result, result, save

ROW = "table3/GCN-LapPE-L4"
GOOD = [result(ROW, seed, 99.0 + seed / 10, fold) for seed in (1, 2) for fold in range(4)]


def lines(*results):
    """Lines without the header, which is in the file already."""
    return as_lines(results).splitlines()[1:]


def flipped(line):
    """One bit of a digit: 99.1 becomes 19.1."""
    assert '"accuracy": 99.' in line
    return line.replace('"accuracy": 99.', '"accuracy": 19.', 1)


BAD = {
    "one flipped digit": ([flipped(lines(result(ROW, 3, 99.1))[0])], "damaged: its checksum is wrong"),
    "an accuracy of 108": (lines(result(ROW, 3, 108.0)), "last, test: accuracy=108.0: impossible"),
    "a number that is none": (lines(result(ROW, 3, 99.0, params=-1)), "params=-1: impossible"),
    "a text as a number": (lines(result(ROW, 3, "99")), "accuracy='99': impossible"),
    "an unknown metric": (
        lines(result(ROW, 3, 99.0, metrics={"last": {"test": {"speed": 1.0}}})), "speed=1.0: impossible",
    ),
    "no numbers": (lines(result(ROW, 3, 99.0, metrics=None)), "damaged: TypeError"),
    "no epoch of its choice": (lines(result(ROW, 3, 99.0, select="best")), "the metrics of best are missing"),
    "a line twice": (lines(GOOD[0]), "is of the same run: remove one"),
    "the same run with another score": (lines(result(ROW, 1, 50.0, 0)), "is of the same run: remove one"),
    "half a line": ([lines(result(ROW, 3, 99.0))[0][:200]], "not JSON"),
    "another program's": (['{"something": "else"}'], "not a result of this project"),
    "of an old format": ([json.dumps(signed({"format": 1, "id": GOOD[0]["id"]}))], "not a result of this project"),
    "not an object": (["[]", "null", "3"], "not a result of this project"),
    "without a header": (lines(result("table3/GAT-LapPE-L4", 3, 99.0)), "no header of its configuration stands before it"),
    "a header of another configuration": (
        as_lines([GOOD[0] | {"id": result("table3/GAT-LapPE-L4", 3, 99.0)["id"], "seed": 9}]).splitlines(),
        "its configuration has another identity",
    ),
    "nested too deeply": (["[" * 100_000], "not JSON"),
    "not a number at all": (['{"format": 2, "sum": "x", "seed": NaN}'], "not a result"),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_line_changes_no_table_and_is_named(tmp_path, capsys, bad):
    save(tmp_path, *GOOD)
    words = ["table3", "--out_dir", str(tmp_path)]
    assert table.main(words) == 0
    clean = capsys.readouterr()
    assert "8 of 100" in clean.out and clean.err == ""
    added, message = BAD[bad]
    with open(tmp_path / "made.jsonl", "a") as file:
        file.writelines(line + "\n" for line in added)
    assert table.main(words) == 0
    printed = capsys.readouterr()
    assert printed.out == clean.out
    told = printed.err.splitlines()
    assert len(told) == len(added) or bad == "a header of another configuration"
    assert message in told[0] and told[0].startswith(f"left out: {tmp_path}/made.jsonl: line ")


def test_a_flipped_bit_anywhere_changes_no_score(tmp_path):
    """Every 7th byte of the file: a score is the one that was written, or its line is left out."""
    save(tmp_path, *GOOD[:2])
    path, text = tmp_path / "made.jsonl", (tmp_path / "made.jsonl").read_bytes()
    right = {(r["seed"], r["fold"]): r["metrics"]["last"]["test"] for r in GOOD[:2]}
    for k in range(0, len(text), 7):
        path.write_bytes(text[:k] + bytes([text[k] ^ 1]) + text[k + 1 :])
        results, problems = read_results([tmp_path])
        assert len(results) == 2 or problems
        assert all(right[r["seed"], r["fold"]] == r["metrics"]["last"]["test"] for r in results)


def test_impossible_counts_of_pairs_are_left_out(tmp_path, capsys):
    save(
        tmp_path,
        of_net("brec_table2/PPGN", (61, 50, 100, 23)),
        pair_result("brec_table2/N_1", {"exact": {}}, "exact", 0),
    )
    table.main(["brec_table2", "--out_dir", str(tmp_path)])
    printed = capsys.readouterr()
    assert (
        "program, Basic: 61 of 60 pairs: impossible" in printed.err
        and "the metrics of exact are missing" in printed.err
    )
    assert "61" not in printed.out


def test_foreign_and_damaged_files(tmp_path, capsys):
    """result.json of run folders; those of QUICK=1 are skipped without a word."""
    for name, content in {
        "good": json.dumps(GOOD[0]), "else": '{"something": "else"}', "half": json.dumps(GOOD[1])[:90],
        "numbers": json.dumps(GOOD[2] | {"metrics": None}), "quick/a": json.dumps(GOOD[3]),
    }.items():  # fmt: skip
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "result.json").write_text(content)
    foreign = (
        {"config": {}}, {"config": None}, {"config": {"net": 1, "dataset": {"x": 1}}}, {"name": None}, {"dataset": "x"},
        {"seed": [1]}, {"seed": True}, {"select": [1]}, {"finished": 5}, {"format": 2.5}, {"measures": {}}, {"status": None},
    )  # fmt: skip
    for i, change in enumerate((*foreign, {"name": "a**b", "seed": 7})):
        (tmp_path / f"foreign{i}").mkdir()
        (tmp_path / f"foreign{i}/result.json").write_text(json.dumps(signed(GOOD[1] | change)))
    (tmp_path / "folder/result.json").mkdir(parents=True)
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    results, problems = read_results([tmp_path])
    assert sorted(r["name"] for r in results) == ["a**b", ROW] and len(problems) == 3 + len(foreign) + 2
    assert table.main(["table3", "--out_dir", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "2 of 100" in printed.out and "half/result.json: not readable" in printed.err


def test_of_two_copies_of_a_run_the_newer_counts(tmp_path):
    for k, (value, month) in enumerate(((90.0, 1), (95.0, 2), (90.0, 1))):
        save(tmp_path / str(k), result(ROW, 1, value, finished=f"2025-0{month}-01T00:00:00+00:00"))
    (found,), _ = read_results([tmp_path])
    assert found["metrics"]["last"]["test"]["accuracy"] == 95.0


def test_results_on_an_older_version_of_the_data_are_named_and_left_out(tmp_path):
    def on(version, seed, finished):
        return result(ROW, seed, 90.0, dataset={"name": "CSL", "hash": version}, finished=finished)

    save(tmp_path, on("old", 1, "2025-01-01"), on("old", 2, "2025-01-02"), on("new", 3, "2025-01-03"))
    results, (problem,) = read_results([tmp_path])
    assert [r["seed"] for r in results] == [3]
    assert problem.startswith(f"2 results of {ROW}") and "another version of the dataset" in problem


def test_every_program_of_the_room_names_what_it_leaves_out(tmp_path, monkeypatch, capsys):
    save(tmp_path, *GOOD)
    with open(tmp_path / "made.jsonl", "a") as file:
        file.write("half a li")
    for program, words in ((significance, []), (plot, ["--save", str(tmp_path / "a.png")])):
        kind = ["table"] if program is plot else []
        program.main([*kind, "table3", "--out_dir", str(tmp_path), *words])
        assert "not JSON" in capsys.readouterr().err
    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    with pytest.raises(SystemExit, match="not JSON"):  # the project's own results must be whole
        pages.main(["--check"])
