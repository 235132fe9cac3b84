"""How much memory a run takes when it is not told."""

from train import memory


def test_runs_side_by_side_divide_what_is_free(monkeypatch):
    """Two that took four fifths each were ended by the system."""
    monkeypatch.setattr(memory, "free_memory", lambda: 10_000)
    monkeypatch.delenv("GNN_RUNS", raising=False)
    assert memory.budget(None) == 8000
    monkeypatch.setenv("GNN_RUNS", "2")
    assert memory.budget(None) == 4000
    assert memory.budget(3) == 3_000_000_000  # as told
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    assert memory.budget(None) is None
