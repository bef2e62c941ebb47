"""The pass `schedule`: turns every fusion into a kernel and its launch."""

from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, ModuleOp, UnitAttr, i64
from xdsl.ir import Block, Region
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.analysis.grids import is_small
from hidet.analysis.kernels import kernels_of
from hidet.analysis.work import work_of
from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp, LoadOp, terminator_of
from hidet.dialects.cuda import BoundsAttr, CheckedIndexOp, KernelOp, LaunchOp
from hidet.dialects.cuda.marks import CHECKED, MIN_BLOCKS, SERIAL
from hidet.dialects.cuda.names import NameScopes, identifier_from
from hidet.dialects.graph import AnchorOp, CallKernelOp
from hidet.dialects.in_place import InPlaceOp
from hidet.dialects.shaped import buffer_type
from hidet.dialects.walking import ops_of_class
from hidet.errors import ScheduleError
from hidet.frontends.script.tracing import tracing
from hidet.lowering.single_walk import rewrite_once
from hidet.lowering.templates import TEMPLATES, load_template
from hidet.lowering.templates.base import KernelScope, Template, TemplateEmitter
from hidet.lowering.templates.config import Config, template_of
from hidet.rewriting.locations import locate

MAX_NAME = 48
"""Longer kernel names are truncated."""


def choose(fusion: FusionOp, arch: Arch) -> tuple[Template[Any], Config]:
    """Return the template and the config of a fusion: its own, or the best by the cost model.

    Raises:
        ScheduleError: no template accepts the fusion, or the one named by its config does not.
    """
    if fusion.config is not None:
        name = template_of(fusion.config)
        if name not in TEMPLATES or not _fits(load_template(name), fusion):
            raise ScheduleError(
                f"the template {name!r} of the config does not fit the fusion",
                hint=f"there are {', '.join(TEMPLATES)}",
            )
        template = load_template(name)
        return template, template.config.read(fusion.config)
    for template in map(load_template, TEMPLATES):
        if _fits(template, fusion) and (best := template.best(fusion, arch)) is not None:
            return template, best
    raise ScheduleError("no template accepts the fusion", hint=f"there are {', '.join(TEMPLATES)}")


def find_template(fusion: FusionOp, arch: Arch) -> Template[Any] | None:
    """Return the first template that has configs for a fusion."""
    known = map(load_template, TEMPLATES)
    return next((t for t in known if _fits(t, fusion) and t.configs(fusion, arch)), None)


def _fits(template: Template[Any], fusion: FusionOp) -> bool:
    """Return whether a template can build a fusion, with its segments and in-place results."""
    is_able = template.updates_in_place or fusion.inits is None
    return is_able and template.accepts(fusion)


def build_kernel(fusion: FusionOp, name: str, arch: Arch) -> KernelOp:
    """Build the kernel of a fusion; its arguments are those passed, then the results."""
    template, config = choose(fusion, arch)
    body = Block(arg_types=[buffer_type(value) for value in (*fusion.passed, *fusion.results_)])
    count = len(fusion.passed)
    arguments, buffers = body.args[:count], body.args[count:]
    yielded = terminator_of(fusion.body).values
    for number, buffer in enumerate(buffers):
        buffer.name_hint = "out" if len(buffers) == 1 else f"out{number}"
    accessed = (*arguments, *(buffers[number] for number in fusion.init_numbers))
    for argument, value in zip(accessed, fusion.body.block.args, strict=True):
        argument.name_hint = value.name_hint
    launch = template.launch(fusion, config)
    scope = KernelScope(
        TemplateEmitter(body, launch),
        dict(zip(fusion.body.block.args, accessed, strict=True)),
        list(zip(yielded, buffers, strict=True)),
    )
    if 0 not in launch.grid:  # an empty grid has no body
        with tracing(scope.builder):
            template.build(scope, fusion, config)
    scope.builder.name_ids()
    kernel = KernelOp(name, launch.grid, launch.block, Region(body))
    kernel.attributes["config"] = config.attribute(template.name)
    kernel.work = work_of(fusion)
    if arch.is_cpu and is_small(fusion):
        kernel.attributes[SERIAL] = UnitAttr()
    if launch.residents > 1:
        kernel.attributes[MIN_BLOCKS] = IntegerAttr(launch.residents, i64)
    locate(kernel, fusion.location)
    return kernel


def kernel_name(fusion: FusionOp) -> str:
    """Return a kernel name made of the name hints of a fusion.

    The suffix avoids clashes with C functions (values are often called `exp`) and module symbols.
    """
    words: list[str] = []
    for op in fusion.body.block.ops:
        hint = op.results[0].name_hint if op.results else None
        if hint is None and isinstance(op, AnchorOp):
            hint = op.name.removeprefix("graph.")
        word = (hint or "").strip("0123456789_")
        if word and word not in words:
            words.append(word)
    name = "_".join(words)[:MAX_NAME].rstrip("_")
    return identifier_from(f"{name}_kernel") or "kernel"


def check_ahead(kernel: KernelOp) -> None:
    """Replace checks ahead of the kernel by an attribute of the arguments that launches check."""
    for op in ops_of_class(kernel.body, CheckedIndexOp):
        if op.ahead is None:
            continue
        op.ahead = None
        load = isinstance(op.index.owner, IndexCastOp) and op.index.owner.input.owner
        if not isinstance(load, LoadOp) or load.source not in kernel.arguments:
            continue  # it stays where it is
        number = kernel.arguments.index(load.source)
        checks = dict.fromkeys((*kernel.checks_of(number), BoundsAttr(op.size, op.where)))
        kernel.set_argument_attribute(CHECKED, number, ArrayAttr(checks))
        Rewriter.replace_op(op, [], [op.index])


def launch_kernel(op: CallKernelOp, rewriter: PatternRewriter) -> None:
    """`graph.call_kernel` becomes `cuda.launch`."""
    rewriter.replace(op, _launch(op, op.kernel.string_value()))


def _launch(op: InPlaceOp, name: str) -> LaunchOp:
    """Return the launch of a kernel with the arguments of an op."""
    return LaunchOp(op.arguments, [value.type for value in op.results_], op.init_numbers, name)


class Kernels:
    """The kernels of the fusions of a module; equal fusions share one."""

    def __init__(self, arch: Arch) -> None:
        self._arch = arch
        self._known: dict[object, list[tuple[Region, str]]] = {}
        self.names = NameScopes()
        """The names of the module's kernels."""

    def schedule(self, op: FusionOp, rewriter: PatternRewriter) -> None:
        """A fusion becomes a launch of its kernel."""
        types = [value.type for value in (*op.arguments, *op.results_)]
        alike = (*types, len(op.body.block.ops), op.config, op.inits, op.segments)
        equals = self._known.setdefault(alike, [])
        same = (name for body, name in equals if body.is_structurally_equivalent(op.body))
        name = next(same, None)
        if name is None:
            name = self.names.fresh(kernel_name(op))
            function = op.parent_op()
            assert function is not None
            rewriter.insert(build_kernel(op, name, self._arch), InsertPoint.before(function))
            equals.append((op.detach_region(op.body), name))
        rewriter.replace(op, _launch(op, name))


@dataclass(frozen=True)
class SchedulePass(ModulePass):
    """Build a kernel for every fusion.

    Expects functions of `compute.fusion` and `graph.call_kernel`; leaves kernels of task ops on
    views, and functions of `cuda.launch`. The `config` attribute of a fusion selects template and
    tile sizes; without one, the template's cost model for `arch` does. The config and the work of a
    kernel (for `hidet profile`) are attached to it. Checks that launches do ahead of the kernel
    become `cuda.checked` of its arguments.
    """

    name = "schedule"

    arch: str = "sm_90a"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Schedule every fusion of the module."""
        kernels = Kernels(Arch.parse(self.arch))
        for kernel in kernels_of(op):
            kernels.names.claim(kernel.sym_name.data)
        rewrite_once(op.body, {FusionOp: kernels.schedule, CallKernelOp: launch_kernel})
        for kernel in kernels_of(op):
            check_ahead(kernel)
