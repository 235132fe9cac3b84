"""Table files: rows by name, sections merged, grids numbered, mistakes named with what would be right."""

import json

import pytest

from runs.errors import ConfigError
from runs.table_files import TableFile, expand, find_row, find_table, merged, table_files, with_changes


@pytest.fixture
def write(tmp_path):
    def write(content, name="mine.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


MINE = {
    "main": "CSL",
    "seeds": [1, 2],
    "shared": {"dataset": "CSL", "train": {"batch_size": 5, "schedule": {"kind": "plateau", "patience": 5}}},
    "quick": {"data.limit": 8, "train.stop.epochs": 2},
    "rows": {"A": {"net": {"model": "GCN", "L": 2}}, "B": {"seeds": [3], "train": {"schedule": {"kind": "constant"}}}},
}


def test_there_are_all_rows_of_two_papers():
    """252 rows before there were table files."""
    ours = [t for t in table_files().values() if t.paper in ("benchmarking_gnns", "brec")]
    assert sum(len(table.rows) for table in ours) >= 252


def test_the_seeds_are_those_of_the_papers_program():
    """TSP and COLLAB have their own, and so has the study of edge features on COLLAB. CSL has five bases plus 2, 3, 6, 7."""
    seeds = {name: t.seeds for name, t in table_files().items() if t.paper == "benchmarking_gnns"}
    seeds = {name.split("/")[-1]: numbers for name, numbers in seeds.items()}
    csl = [base + more for base in (12, 32, 52, 82, 92) for more in (2, 3, 6, 7)]
    assert seeds.pop("table3") == seeds.pop("table7_CSL") == csl and seeds.pop("table6") == [41, 95]
    for name in ("table2_TSP", "table4_TSP", "table2_COLLAB", "table7_COLLAB"):
        assert seeds.pop(name) == [41, 42, 9, 23], name
    for name in ("table4_COLLAB", "table8"):
        assert seeds.pop(name) == [411, 421, 91, 231], name
    assert len(seeds) == 8 and set(map(tuple, seeds.values())) == {(41, 95, 12, 35)}


def test_table_3_encodes_as_the_program_did():
    """Absolute values for all models; the text's flipped signs are Table 7's."""
    rows = [row.config["net"] for name, row in find_table("table3").rows.items() if "-LapPE-" in name]
    found = {(net["model"], net["encodings"][0].get("signs", "kept")) for net in rows}
    models = {"MLP", "GCN", "GraphSage", "MoNet", "GAT", "GatedGCN", "GIN", "RingGNN", "3WLGNN"}
    assert found == {(model, "abs") for model in models}
    assert find_row("table7_CSL/Rand_sign_EigVecs").config["net"]["encodings"][0]["signs"] == "flip"


def test_a_row_is_what_is_shared_and_what_differs(write):
    table = TableFile(write(MINE))
    assert table.row("A").config["train"] == {"batch_size": 5, "schedule": {"kind": "plateau", "patience": 5}}
    assert table.row("B").config["train"] == {
        "batch_size": 5,
        "schedule": {"kind": "constant"},
    }  # another kind replaces
    assert table.row("A").seeds == [1, 2] and table.row("B").seeds == [3]
    assert str(table.row("A")) == "mine/A"


def test_quick_changes_only_sections_that_a_row_has(write):
    table = TableFile(write({**MINE, "shared": {"dataset": "BREC"}, "rows": {"M": {"method": "3-WL"}}}))
    assert table.row("M").quick_changes() == {"data.limit": 8}


def test_quick_changes_a_file_that_says_nothing_about_it(write):
    """As one made from the template in README.md."""
    table = TableFile(write({key: value for key, value in MINE.items() if key != "quick"}))
    assert table.row("A").quick_changes() == table.quick == {"data.limit": 8, "train.stop.epochs": 2}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("table3/GCN-L4", r"The nearest are (GCN-none-L4|GCN-LapPE-L4), .*; python -m tables.rows table3 lists all$"),
        ("table3/gcn_none_l4", r"has no such row\. Did you mean GCN-none-L4\? The nearest are GCN-none-L4, "),
        ("brec_table2/N1", r"has no such row\. Did you mean N_1\?"),
    ],
)
def test_an_error_names_a_few_rows_of_a_large_table(name, words):
    with pytest.raises(ConfigError, match=words) as error:
        find_row(name)
    assert len(str(error.value)) < 500


def test_merging_leaves_its_arguments_alone():
    base, changes = {"a": {"b": 1}}, {"a": {"c": [2]}}
    result = merged(base, changes)
    result["a"]["c"].append(3)
    assert (base, changes) == ({"a": {"b": 1}}, {"a": {"c": [2]}})
    assert with_changes(base, {"a.b": 5, "x.y": 1}) == {"a": {"b": 5}, "x": {"y": 1}}


def test_another_kind_comes_before_its_keys():
    """In whatever order they are given."""
    base = {"schedule": {"kind": "plateau", "patience": 5}}
    changes = {"schedule.warmup": 3, "schedule.kind": "cosine"}
    for given in (changes, dict(reversed(changes.items()))):
        assert with_changes(base, given) == {"schedule": {"kind": "cosine", "warmup": 3}}


def test_a_grid_is_numbered_in_the_order_of_the_file():
    """The last key changes fastest."""
    grid = expand({"net.L": [2, 4], "train.batch_size": [32, 128]})
    assert grid == [
        {"net.L": 2, "train.batch_size": 32},
        {"net.L": 2, "train.batch_size": 128},
        {"net.L": 4, "train.batch_size": 32},
        {"net.L": 4, "train.batch_size": 128},
    ]


def test_rows_are_found_by_table_and_by_name_alone(write):
    row = find_row("table2_ZINC/GCN-L4")
    assert row is find_row("benchmarking_gnns/table2_ZINC/GCN-L4")
    assert find_row("GCN-LapPE-L4", main="CSL") is find_row("table3/GCN-LapPE-L4")
    path = write(MINE)
    assert find_row(f"{path}/A").config["net"]["model"] == "GCN"
    assert find_row(str(write({**MINE, "rows": {"A": {}}}, "one.json"))).name == "A"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("table2_ZINC/GCN-L5", "Did you mean GCN-L4"),
        ("table2_ZNC/GCN-L4", "Did you mean table2_ZINC"),
        ("GCN-L4", "several tables have this row: table2_"),
        ("nothing-like-it", "python -m tables.rows lists all rows"),
        ("nowhere.json/A", "nowhere.json: no such file"),
    ],
)
def test_unknown_rows_are_refused_with_the_nearest(name, words):
    with pytest.raises(ConfigError, match=words):
        find_row(name)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[1]", "expected a JSON object"),
        ("{", "not a JSON file"),
        ('{"main": "CSL", "main": "TSP"}', "'main' stands twice"),
        ({**MINE, "row": {}}, "row={}: unknown key. Did you mean rows"),
        ({**MINE, "seeds": "41"}, "seeds='41': expected list"),
        ({**MINE, "seeds": [1, 1]}, "expected different numbers"),
        ({**MINE, "seeds": []}, "expected different numbers"),
        ({**MINE, "seeds": [True]}, "expected different numbers"),
        ({**MINE, "rows": {"A": 1}}, "row A: expected an object"),
        ({**MINE, "rows": {"A": {"seeds": 1}}}, "seeds=1: expected list"),
        ({**MINE, "rows": {"A": {"seeds": [-1]}}}, "row A: seeds=[-1]: expected different numbers"),
        ({**MINE, "rows": {"A/B": {}}}, "row A/B: expected a name without /"),
        ({**MINE, "shared": {}}, "row A: dataset is missing"),
        ({**MINE, "shared": {"dataset": ["CSL"]}}, "row A: dataset ['CSL']: expected a name"),
        ({**MINE, "grid": {"net.L": 4}}, "net.L=4: expected a list"),
        ({"main": "CSL", "rows": {}}, "seeds is missing"),
        ("[" * 100000, "not a JSON file"),
    ],
)
def test_mistakes_in_a_file_are_named(write, content, words):
    with pytest.raises(ConfigError) as error:
        TableFile(write(content))
    assert words in str(error.value) and "mine.json" in str(error.value).replace("grid", "mine.json grid")


def test_a_row_that_stands_twice_is_refused(write):
    text = json.dumps(MINE).replace('"B":', '"A":')
    with pytest.raises(ConfigError, match="'A' stands twice"):
        TableFile(write(text))


def test_a_table_is_found_by_its_paper_too():
    assert find_table("table3") is find_table("benchmarking_gnns/table3")
    with pytest.raises(ConfigError, match="no such table"):
        find_table("brec/table3")


# --------------------------------------------------------------------------------------------------------------------
# Files made of others

GRID = {**MINE, "folds": 2, "grid": {"net.L": [2, 3], "train.batch_size": [5, 10]}}


def test_a_file_like_another_has_other_keys_and_other_lists(write):
    """The rows are the same, their configurations and so their results are not."""
    base = TableFile(write(GRID))
    small = write({"like": "mine", "changes": {"train.stop.epochs": 7}, "grid": {"net.L": [4]}}, "small.json")
    like = TableFile(small)
    row = like.row("A")
    assert (
        row.config["grid"] == {"net.L": [4], "train.batch_size": [5, 10]} and next(iter(row.config["grid"])) == "net.L"
    )
    assert row.config["net"]["L"] == 4 and row.config["train"]["stop"] == {"epochs": 7}
    assert (like.seeds, like.folds, like.main) == (base.seeds, 2, "CSL") and str(row) == "small/A"
    assert row.id() != base.row("A").id() and not like.made_of_others


def test_a_quick_selection_is_assessed_once():
    row = find_row("fair_GIN/ENZYMES")
    changed = row.changed(row.quick_changes())
    assert changed["selection"] == {"repetitions": 1} and len(expand(changed["grid"])) == 4
    assert "selection.repetitions" not in find_row("table3/GCN-none-L4").quick_changes()


def test_a_table_over_several_files_has_their_rows(write):
    write(GRID)
    write({"like": "mine", "grid": {"net.L": [4]}}, "other.json")
    table = TableFile(write({"paper": "p", "rows_of": {"X": "mine", "Y": "other"}, "only": ["B", "A"]}, "both.json"))
    assert list(table.rows) == ["B-X", "B-Y", "A-X", "A-Y"] and table.made_of_others
    assert str(table.row("A-Y")) == "other/A" and table.row("A-Y").printed == "A-Y"
    assert table.row("A-X").id() == TableFile(write(GRID)).row("A").id() != table.row("A-Y").id()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"like": "nowhere"}, "nowhere: there is no"),
        ({"like": "mine", "grid": {"net.hidden": [1]}}, "net.hidden is no key of the grid of mine"),
        ({"like": "mine", "rows": {}}, "rows={}: unknown key"),
        ({"paper": "p", "rows_of": {"X": "mine"}}, "only is missing"),
        ({"paper": "p", "rows_of": {"X": "mine"}, "only": ["C"]}, "C: .*mine.json has no such row"),
        ({"paper": "p", "rows_of": {"X": "mine", "Y": "longer"}, "only": ["A"]}, "the files differ in folds"),
    ],
)
def test_mistakes_in_files_made_of_others_are_named(write, content, message):
    write(GRID)
    write({**GRID, "folds": 3}, "longer.json")
    with pytest.raises(ConfigError, match=message):
        TableFile(write(content, "made.json"))


def test_the_reduced_grid_has_four_trainings_of_eight_configurations():
    """R10: both criteria of four trainings, 100 epochs and a patience of 25, the baseline 200 and 50; results of their own."""
    full = {row.id() for t in table_files().values() if not t.name.endswith("_reduced") for row in t.rows.values()}
    for name in ("baseline", "DGCNN", "DiffPool", "ECC", "GIN", "GraphSAGE"):
        for row in find_table(f"fair_{name}_reduced").rows.values():
            grid, stop = row.config["grid"], row.config["train"]["stop"]
            assert len(expand(grid)) == 8 and grid["train.stop.of"] == ["metric", "loss"]
            assert (stop["epochs"], stop["patience"]) == ((200, 50) if name == "baseline" else (100, 25))
            assert row.id() not in full
            wide = find_table(f"fair_{name}").row(row.name).config["grid"]
            assert list(grid) == list(wide)
            if (name, row.name) != ("baseline", "ENZYMES"):  # whose own grid has smaller rates
                assert all(value in wide[key] for key in grid for value in grid[key])


def test_variants_of_every_row(tmp_path):
    """ROW, then ROW+VARIANT with its keys; a row may have folds of its own, and so have its variants."""
    path = tmp_path / "varied.json"
    variants = {"NoEdges": {"data": {"transforms": [{"kind": "NoEdges"}]}}}
    content = {"main": "taxonomy", "seeds": [0], "folds": 10, "shared": {"dataset": "A"}, "variants": variants}
    path.write_text(json.dumps(content | {"rows": {"A": {}, "B": {"dataset": "B", "folds": 1, "data": {"limit": 3}}}}))
    rows = find_table(str(path)).rows
    assert list(rows) == ["A", "A+NoEdges", "B", "B+NoEdges"] and [row.folds for row in rows.values()] == [10, 10, 1, 1]
    assert rows["B+NoEdges"].config == {"dataset": "B", "data": {"limit": 3, **variants["NoEdges"]["data"]}}
    path.write_text(json.dumps(content | {"rows": {"A": {}}, "variants": {"x": 3}}))
    with pytest.raises(ConfigError, match="variant x: expected an object"):
        find_table(str(path))


def test_the_cells_of_the_taxonomy():
    """21 datasets x 12 columns for two models, 25 x 10 for one."""
    tables = {name: find_table(f"taxonomy_{name}") for name in ("figure4", "figureB1", "figure5")}
    assert {name: len(table.rows) for name, table in tables.items()} == {
        "figure4": 252,
        "figureB1": 252,
        "figure5": 250,
    }
    runs = [len(row.seeds) * row.folds for table in tables.values() for row in table.rows.values()]
    assert set(runs) == {10} and len({row.id() for table in tables.values() for row in table.rows.values()}) == 754
    assert all(row.config["net"] == {"model": "TaxonomyGIN"} for row in tables["figureB1"].rows.values())
