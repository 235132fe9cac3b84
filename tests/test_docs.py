"""The documents: what they name is there, what is generated is what the code says now, and documented commands are understood;
pages of results: tests/tables/test_pages.py."""

import importlib
import re
import shlex

import pytest

from docs import make_models
from runs.table_files import ROOT, find_row

PLACES = ("*.md", "docs/*.md", "data/*.py", "tools/*.py", "train/*.py", "*.sh", "script_reproduce/*.sh")
STAND_INS = {"ROW", "my_table", "--help"}  # what a reader puts something else for
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
FOLDERS = "benchmarks|configs|data|docs|exact|launch|layers|nets|results|runs|script_reproduce|tables|tests|tools|train"

MINE = re.compile("MINE|mine|my_table")  # what a reader is to write


def documented():
    """The commands of main files that documents, comments and docstrings name; run.sh is main_CSL.py."""
    texts = [path.read_text() for place in PLACES for path in sorted(ROOT.glob(place))]
    found = re.findall(r"(?:bash run\.sh|main_\w+\.py) --[^`\n#]*", "\n".join(texts))
    found = [
        re.split(" {2,}| --predict ", command.replace("bash run.sh", "main_CSL.py"))[0].strip() for command in found
    ]
    return sorted(command for command in {*found} if not STAND_INS & {*command.split()})


def test_the_page_of_the_models_is_up_to_date():
    assert make_models.main(["--check"]) == 0, "run: python -m docs.make_models"


@pytest.mark.parametrize("command", documented())
def test_a_documented_command_has_rows_and_keys_that_exist(command, monkeypatch):
    program, *words = shlex.split(command)
    module, made = importlib.import_module(program.removesuffix(".py")), []
    parse = module.parse_config

    def parse_alone(*arguments, **options):
        made.append(parse(*arguments, **options))
        raise SystemExit

    monkeypatch.setattr(module, "parse_config", parse_alone)
    with pytest.raises(SystemExit):
        module.main(words)
    assert made


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_rows_that_a_page_names_are_there(page):
    """Files of this project in backticks or commands (names with a placeholder are not looked up), and rows behind --config."""
    text = page.read_text()
    named = re.findall(rf"(?<![\w/.-])((?:{FOLDERS})/[\w/.+-]*\w|main_\w+\.py)(?![\w/*<.-]|\*)", text)
    assert [name for name in named if not (ROOT / name).exists() and not MINE.search(name)] == []
    for row in re.findall(r"--config[\", ]+([\w+.-]+/[\w+.()=-]+|[\w+-]+)", text):
        if not MINE.search(row) and row != "ROW":
            find_row(row)
