"""Integers wrap around and divide as in Python, whatever their type: against numpy."""

import importlib.util
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import hidet


def load(path):
    """Import a module from a file, anew."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[path.stem] = module
    specification.loader.exec_module(module)
    return module


integer_programs = load(Path(__file__).parent / "integer_programs.py")


def check_programs(folder, seed, count):
    """Run random programs in one kernel and compare all that they compute."""
    generator = integer_programs.Generator(random.Random(seed))
    programs = [generator.program(number) for number in range(count)]
    path = folder / f"programs_{seed}.py"
    path.write_text(integer_programs.module_text(programs, generator))
    built = load(path).module.build()
    inputs = [torch.from_numpy(value.copy()) for value in generator.inputs.values()]
    shape = (count, integer_programs.THREADS)
    outputs = {
        kind: torch.from_numpy(np.full(shape, 77, dtype))
        for kind, dtype in integer_programs.TYPES.items()
    }
    built(*inputs, *outputs.values(), *(int(value) for value in generator.scalars.values()))
    for number, (statements, kind, expected) in enumerate(programs):
        found = outputs[kind][number].numpy()
        wrong = np.flatnonzero(found != expected)
        if wrong.size:
            t = wrong[0]
            values = {name: value[t] for name, value in generator.inputs.items()}
            pytest.fail(
                f"seed {seed}, thread {t}: {found[t]} should be {expected[t]}\n"
                + "\n".join(statements)
                + f"\n{values} {generator.scalars}"
            )


@pytest.mark.parametrize("strict", [False, True])
def test_programs(tmp_path, strict):
    """A hundred random programs, of other numbers each time."""
    seed = random.randrange(1 << 32)
    with hidet.option.context(strict=strict):
        for number in range(2):
            check_programs(tmp_path, seed + number, 50 if not strict else 25)


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
def test_many_programs(tmp_path, strict):
    """Two thousand."""
    seed = random.randrange(1 << 32)
    with hidet.option.context(strict=strict):
        for number in range(40):
            check_programs(tmp_path, seed + number, 50)
