"""FileCheck for scripts: matches comments in a Python file against its lowered kernels.

    # RUN: hidet script %s --filecheck

    with hidet.script_module() as module:

        @hidet.script
        def kernel(x: f32[32]):
            ...
            # IR:     cuda.sync_threads
            # SOURCE: hidet::sync_threads();
            syncthreads()

A comment is matched against one level of the kernels, or with `IR` against all three of the IR:

    TASK      the `task` and `cuda` dialects, as traced
    CUDA      the `cuda` dialect, for one thread
    FINAL     the same, before printing
    IR        each of these three
    SOURCE    CUDA C++
"""

import importlib.util
from pathlib import Path
from typing import Literal, get_args

from filecheck.options import Options

from hidet.driver.script import CompiledModule, Level, build_ir_module
from hidet.errors import HidetError
from hidet.frontends.script.module import ScriptModule
from hidet.tools.match_checks import match_checks

Printed = Level | Literal["source"]

PREFIXES: dict[Printed, str] = {
    **{level: f"{level.upper()},IR" for level in get_args(Level)},
    "source": "SOURCE",
}
"""The prefixes of the comments that are matched against each level."""


def read_script_file(path: Path) -> list[CompiledModule]:
    """Run a Python file, and lower the script modules among its global variables.

    Raises:
        HidetError: there is no script module, or a script is wrong.
    """
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise HidetError(f"{path} is no Python file")
    python = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(python)
    found = [value for value in vars(python).values() if isinstance(value, ScriptModule)]
    modules = list(dict.fromkeys(found))
    if not modules:
        raise HidetError(
            f"{path} has no script module among its global names",
            hint="it is looked for where the file says 'with hidet.script_module() as module:'",
        )
    return [build_ir_module(module.ir_module()) for module in modules]


def print_modules(modules: list[CompiledModule], level: Printed) -> str:
    """Return kernels at a level."""
    texts = [each.source() if level == "source" else each.ir(level) for each in modules]
    return "\n".join(texts)


def check_script_file(path: Path) -> None:
    """Match the comments of a Python file against each level of its kernels.

    Raises:
        HidetError: they do not match, there is no script module, or a script is wrong.
    """
    modules, checks = read_script_file(path), path.read_text()
    for level, prefixes in PREFIXES.items():
        text = print_modules(modules, level)
        options = Options(str(path), input_file=level, check_prefixes=prefixes.split(","))
        message = match_checks(text, options, checks)
        if message is not None:
            raise HidetError(
                f"{path} does not become what its comments {prefixes} say\n{message}",
                hint=f"`hidet script {path} --level {level}` prints it",
            )
