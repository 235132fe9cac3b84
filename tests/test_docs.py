"""What is generated in docs/ is what the code says now; pages of results: tests/tables/test_pages.py."""

from docs import make_models


def test_the_page_of_the_models_is_up_to_date():
    assert make_models.main(["--check"]) == 0, "run: python -m docs.make_models"
