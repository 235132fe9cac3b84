"""Names of runs: the row, and what differs from it. They are for people; nothing is found by them."""

from runs.naming import changed_keys, run_name

ROW = {"net": {"model": "GCN", "L": 4}, "train": {"schedule": {"kind": "plateau", "patience": 5}}}


def name(**new):
    return run_name("table3/GCN", changed_keys(ROW, {**ROW, **new}))


def test_the_row_and_what_differs():
    assert name() == "table3/GCN"
    assert name(net={"model": "GCN", "L": 8}, dataset="CSL") == "table3/GCN+dataset=CSL+net.L=8"
    assert name(folds=[1, 2]) == "table3/GCN+folds=[1,2]"


def test_the_keys_of_another_kind_go_with_it():
    assert (
        name(train={"schedule": {"kind": "step", "every": 9}})
        == "table3/GCN+train.schedule.every=9+train.schedule.kind=step"
    )
    assert name(train={}) == "table3/GCN+train.schedule=default"
    assert name(train={"schedule": {"kind": "plateau"}}) == "table3/GCN+train.schedule.patience=default"


def test_many_changes_are_cut_and_stay_different():
    many = [name(**{f"key{i}": i for i in range(n)}) for n in (30, 31)]
    assert len(set(many)) == 2 and all(len(text) < 100 for text in many)
