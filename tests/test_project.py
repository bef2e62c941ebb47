"""The project's own files agree with each other."""

import importlib
import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import hidet

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
REQUIREMENTS = [Requirement(text) for text in sum(EXTRAS.values(), PROJECT["dependencies"])]
ENTRY_POINTS = [
    *PROJECT["scripts"].values(),
    *(path for group in PROJECT["entry-points"].values() for path in group.values()),
]


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: requirement.name)
def test_constraints_pin_what_is_required(requirement):
    """A fresh machine gets the versions that the tests ran with."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if "==" in line)
    assert requirement.specifier.contains(pins[requirement.name])


@pytest.mark.parametrize("path", ENTRY_POINTS)
def test_entry_points_load(path):
    """What the metadata promises to other tools is there."""
    module, _, attribute = path.partition(":")
    assert hasattr(importlib.import_module(module), attribute)


def test_version():
    """The changelog and the package speak of the same project."""
    assert PYPROJECT["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "hidet.__version__"
    assert hidet.__version__.count(".") == 2


def test_make_help_lists_the_commands_of_the_readme():
    """`make help` tells every target that the documents use."""
    result = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    targets = {line.split()[0] for line in result.stdout.splitlines()}
    assert {"demo", "test", "lint", "typecheck", "unit", "lit", "format", "bench"} <= targets


def test_ci_runs_make_test():
    """Continuous integration runs what everyone runs."""
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().rstrip().endswith("make test")


def test_typed():
    """Type checkers of users read the annotations."""
    assert (ROOT / "hidet" / "py.typed").exists()
