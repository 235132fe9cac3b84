"""What is generated in docs/ is what the code says now."""

from docs.make_models import main


def test_the_page_of_the_models_is_up_to_date():
    assert main(["--check"]) == 0, "run: python -m docs.make_models"
