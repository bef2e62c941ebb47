"""How lit runs the tests of this tree: `lit lit_tests`, or one file of it."""

import os
import sys
from pathlib import Path

import lit.formats

# Tests see the checkout that they stand in, also where it is not installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from hidet.testing.lit_file import MACROS  # noqa: E402

config.name = "hidet"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir", ".py"]
config.excludes = ["lit.cfg.py"]
config.test_source_root = str(ROOT / "lit_tests")
config.test_exec_root = str(ROOT / "build" / "lit")
os.makedirs(config.test_exec_root, exist_ok=True)
config.available_features.add("shell")
config.maxIndividualTestTime = 60

config.environment["PYTHONPATH"] = str(ROOT)
for variable in ("HOME", "HIDET_TRACEBACK"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

# In this order, each once: what a macro stands for has commands in it.
PYTHON = f"{sys.executable} -W error"
config.substitutions += list(MACROS.items())
config.substitutions += [
    (r"(?<![\w/.-])hidet-opt(?![\w/.-])", f"{PYTHON} -m hidet.tools.hidet_opt"),
    (r"(?<![\w/.-])hidet(?![\w/.-])", f"{PYTHON} -m hidet.tools.cli"),
    (r"(?<![\w/.-])filecheck(?![\w/.-])", f"{PYTHON} -m filecheck"),
]
