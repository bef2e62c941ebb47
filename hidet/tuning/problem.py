"""Tuning problems: fusions as separate programs, without names and locations."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from hidet.analysis.work import terms_of, work_of
from hidet.arch.chips import Arch
from hidet.backend.cache import artifact_key
from hidet.dialects.compute import FusionOp
from hidet.dialects.graph import ConstantOp, MatmulOp
from hidet.dialects.graph.base import tensor_type
from hidet.dialects.host_functions import FORWARD
from hidet.dialects.shaped import element_of, nbytes_of, shape_of, size_of
from hidet.dialects.walking import values_in
from hidet.lowering.task.schedule import find_template
from hidet.lowering.templates.base import Template
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.legality import Rejected


@dataclass(frozen=True)
class Setting:
    """The common settings of the problems of a program.

    `version` is the fingerprint of the compiler, and of nvcc or g++. `cold` says whether weights
    are read from memory, since they exceed the L2 cache.
    """

    arch: Arch
    version: str
    cold: bool


class Problem:
    """A fusion whose template has more than one config for it.

    Attributes:
        text: the fusion in a function `@forward`, with weights as constants; equal for fusions that
            differ only in names and locations.
        configs: the candidates, the best estimate first.
        rejected: the configs that are invalid on the architecture.
        length: the terms of a sum of its anchor, or 0.
    """

    def __init__(self, fusion: FusionOp, template: Template[Any], setting: Setting) -> None:
        self.setting = setting
        self.template = template
        self.configs: tuple[Config, ...] = tuple(template.configs(fusion, setting.arch))
        self.rejected: tuple[Rejected, ...] = tuple(template.rejected(fusion, setting.arch))
        self.text = str(_alone(fusion))
        self.work = work_of(fusion)
        matmul = next((op for op in fusion.body.block.ops if isinstance(op, MatmulOp)), None)
        self.length = max(map(terms_of, fusion.body.block.ops), default=0)
        self.title = _title(fusion, matmul)

    @cached_property
    def key(self) -> str:
        """A sha256 of everything that the best config depends on."""
        setting = self.setting
        return artifact_key(self.text, str(setting.arch), setting.version, str(setting.cold))

    def attribute(self, config: Config) -> DictionaryAttr:
        """Return the attribute of a config."""
        return config.attribute(self.template.name)


def open_fusions(module: ModuleOp, arch: Arch) -> Iterator[tuple[FusionOp, Template[Any]]]:
    """Yield the fusions of `@forward` without a config, with their templates.

    `@prepare` runs once per weight set, and is not worth tuning.
    """
    for op in _forward(module):
        if isinstance(op, FusionOp) and op.config is None and all(map(size_of, op.results_)):
            template = find_template(op, arch)
            if template is not None:  # `schedule` reports otherwise
                yield op, template


def weight_bytes(module: ModuleOp) -> int:
    """Return the size of all constants of `@forward` in bytes."""
    return sum(nbytes_of(op.result) for op in _forward(module) if isinstance(op, ConstantOp))


def _forward(module: ModuleOp) -> Iterator[Operation]:
    for function in module.ops:
        if isinstance(function, FuncOp) and function.sym_name.data == FORWARD:
            yield from function.body.block.ops


def _alone(fusion: FusionOp) -> ModuleOp:
    """Return a program that consists of the fusion alone."""
    block = Block()
    inputs: list[SSAValue] = []
    for number, value in enumerate(fusion.arguments):
        if isinstance(value.owner, ConstantOp):
            constant = ConstantOp(f"p{number}", result=tensor_type(value))
            block.add_op(constant)
            inputs.append(constant.result)
        else:
            inputs.append(block.insert_arg(value.type, len(block.args)))
    copy = fusion.clone(dict(zip(fusion.arguments, inputs, strict=True)))
    copy.inits = None
    block.add_ops([copy, ReturnOp(*copy.results_)])
    for value in values_in(copy):
        value.name_hint = None
    kind = ([a.type for a in block.args], [r.type for r in copy.results_])
    return ModuleOp([FuncOp(FORWARD, kind, Region(block))])


def _title(fusion: FusionOp, matmul: MatmulOp | None) -> str:
    """Return a readable title of a fusion: its matmul, else its results."""
    if matmul is None:
        return ", ".join(str(result.type) for result in fusion.results_)
    *batch, m, n = shape_of(matmul.result)
    sizes = f"{m} x {n} x {shape_of(matmul.lhs)[-1]} {element_of(matmul.lhs)}"
    return f"matmul {f'{prod(batch)} x ' if prod(batch) > 1 else ''}{sizes}"
