"""A short budget of mutants for each reader. The long one: python -m tests.fuzz --minutes 30."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.corpus import Target
from tests.fuzz.rule import Broken, try_mutant
from tests.fuzz.targets import TARGETS

MUTATIONS = st.lists(st.tuples(st.integers(0, 8), st.floats(0, 1), st.integers(0, 1000)), min_size=1, max_size=3)


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_is_valid(name):
    assert try_mutant(TARGETS[name], 0, []) == "read"


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(file=st.integers(0, 100), mutations=MUTATIONS)
def test_a_mutant_is_read_or_refused_by_name(name, file, mutations):
    try_mutant(TARGETS[name], file, mutations)


def test_the_rule_finds_a_reader_that_breaks_it():
    def careless(folder):
        (folder / "half.tmp").touch()

    for read, message in ((lambda folder: 1 / 0, "ZeroDivisionError"), (careless, "left behind")):
        with pytest.raises(Broken, match=message):
            try_mutant(Target("careless", {"a": b"1"}, read), 0, [])
