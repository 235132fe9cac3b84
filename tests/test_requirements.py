"""Versions: every file names exact ones, and what was tested as the oldest is what environment.yml installs."""

import re
from pathlib import Path

from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]


def versions(name):
    """{package: version} of a requirements file and of those it includes; a line that is not exact is an error."""
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        if line.startswith("-r "):
            found |= versions(line.removeprefix("-r "))
        elif not line.startswith("#"):
            package, version = line.split("==")
            found[package] = Version(version)
    return found


def test_the_oldest_versions_are_of_the_same_packages_and_none_is_newer():
    newest, oldest = versions("requirements-test.txt"), versions("requirements-oldest.txt")
    assert newest.keys() - oldest.keys() == {"ogb"}
    newer = {name for name in newest.keys() & oldest.keys() if oldest[name] > newest[name]}
    assert newer == {"dgl"}  # 2.x does not load with the torch of requirements.txt


def test_conda_installs_the_oldest_versions():
    text = (ROOT / "environment.yml").read_text()
    conda, pip = text.split("- pip:")
    found = dict(re.findall(r"(?m)^ +- ([a-z-]+)=([0-9.]+)$", conda)) | dict(re.findall(r"- (\S+)==(\S+)", pip))
    assert found.pop("python") == "3.11" and found.pop("pytorch-cuda") == "12.1"
    found["torch"] = found.pop("pytorch")
    assert {name: Version(version) for name, version in found.items()} == versions("requirements-oldest.txt")
