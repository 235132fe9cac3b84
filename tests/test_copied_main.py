"""A dataset of one's own needs three new files, as the README says: a data module, a main file and a table file."""

import subprocess
import sys

import pytest

DATA = '''"""Triangle or path of three nodes: which is it?"""

from data.dataset import GraphDataset
from data.store import Field, PackedWriter


class Triangles(GraphDataset):
    name, version, parameters = "triangles", 1, {"n_graphs": 20}

    def build(self, path):
        fields = [Field("graph", "label", "int64", n_types=2), Field("node", "feat", "float32", (1,))]
        with PackedWriter(path, self.name, fields) as writer:
            for i in range(20):
                src, dst = ([0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]) if i % 2 else ([0, 1, 1, 2], [1, 0, 2, 1])
                writer.add(3, src, dst, node={"feat": [[1.0], [2.0], [3.0]]}, graph={"label": i % 2})
            writer.add_split("fold0", train=range(10), val=range(10, 15), test=range(15, 20))
'''
TABLE = """{"main": "triangles", "seeds": [1, 2],
 "shared": {"dataset": "triangles",
            "train": {"batch_size": 5, "optimizer": {"kind": "adam", "lr": 0.01}, "stop": {"epochs": 40}}},
 "quick": {"data.limit": 2, "train.stop.epochs": 1},
 "rows": {"GCN": {"net": {"model": "GCN", "L": 2, "hidden_dim": 8}}}}
"""
CHANGES = {  # of main_CSL.py: the dataset, the name of the main file, the default row
    "from data.CSL import CSL, PublishedCSL": "from data.triangles import Triangles",
    '{"CSL": CSL, "CSL-published": PublishedCSL}': '{"triangles": Triangles}',
    'argv, "CSL"': 'argv, "triangles"',
    "table3/GCN-LapPE-L4": "my_table/GCN",
}


@pytest.fixture
def project(project_copy):
    """The copy with the three files."""
    main = (project_copy / "main_CSL.py").read_text()
    for old, new in CHANGES.items():
        assert old in main, old
        main = main.replace(old, new)
    (project_copy / "main_triangles.py").write_text(main)
    (project_copy / "data" / "triangles.py").write_text(DATA)
    (project_copy / "configs" / "mine").mkdir()
    (project_copy / "configs" / "mine" / "my_table.json").write_text(TABLE)
    return project_copy


def test_main_file_all_runs_and_their_table(project, child_env):
    def python(*words, **more):
        command = [sys.executable, *words]
        done = subprocess.run(command, cwd=project, env=child_env | more, capture_output=True, text=True)
        assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    assert "my_table/GCN" in (text := python("main_triangles.py")) and "100.000" in text
    made = python("-m", "launch.reproduce", "mine/my_table")
    assert "2 of 2 done" in made
    assert len(list((project / "out/triangles").rglob("result.json"))) == 2  # the first was not made again
    table = python("-m", "tables.table", "my_table")
    assert "GCN" in table and "100.000" in table
    assert "100.000" in python("-m", "tables.table", "--runs", "out/triangles")
    assert "mine/my_table.jsonl: 2 new" in python("-m", "runs.collect", "out")
    mine = project / "elsewhere.json"  # a table file anywhere, with a row by its path
    mine.write_text(TABLE)
    assert "elsewhere/GCN" in python("main_triangles.py", "--config", f"{mine}/GCN", "--seed", "2")
    assert len(list((project / "out/triangles").rglob("result.json"))) == 2  # one identity, whatever the file is called
