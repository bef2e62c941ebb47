"""Which ops may stand where after a pass, and which pass should have taken the others away."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from hidet.dialects.compute import FusionOp, GridOp, ReduceOp, SinkOp
from hidet.dialects.cuda import KernelOp
from hidet.dialects.cuda.attributes import Space, space_of
from hidet.dialects.shaped import optional_memref_type
from hidet.dialects.task import TaskMapAttr
from hidet.legality.report import illegal


@dataclass(frozen=True)
class Lifetime:
    """When ops of a kind may be there.

    Attributes:
        since: the pass that makes them; without one they may be there from the start.
        until: the pass that leaves none of them; without one they stay.
    """

    since: str | None = None
    until: str | None = None


def _forever(*names: str) -> dict[str, Lifetime]:
    """Return ops and dialects that may always be there."""
    return dict.fromkeys(names, Lifetime())


_SCALARS = _forever("arith", "math", "scf")
_MEMORY = _forever("memref.alloca", "memref.load", "memref.store")

PLACES: Mapping[str, Mapping[str, Lifetime]] = {
    "the module": _forever("func.func", "cuda.kernel"),
    "a host function": {
        **_SCALARS,
        **_MEMORY,
        **_forever("func.return", "cuda.floormodsi", "cuda.view", "cuda.printf"),
        "graph": Lifetime(until="lower-graph-to-compute"),
        "graph.matmul": Lifetime(until="fuse"),
        "graph.scaled_dot_product_attention": Lifetime(until="fuse"),
        "graph.constant": Lifetime(until="plan-memory"),
        "graph.call_kernel": Lifetime(until="schedule"),
        "compute.grid": Lifetime(since="lower-graph-to-compute", until="fuse"),
        "compute.fusion": Lifetime(since="fuse", until="schedule"),
        "cuda.launch": Lifetime(since="schedule"),
        "cuda.buffer": Lifetime(since="plan-memory"),
        "cuda.tensor_map": Lifetime(since="pass-tensor-maps"),
        "memref.copy": Lifetime(since="plan-memory"),
    },
    "a fusion": _forever(
        "compute.grid", "compute.yield", "graph.matmul", "graph.scaled_dot_product_attention"
    ),
    "the body of a grid": {
        **_SCALARS,
        **_forever(
            "cuda.checked_divisor", "cuda.checked_index", "cuda.floormodsi", "cuda.function"
        ),
        **_forever("compute.load", "compute.reduce", "compute.yield"),
    },
    "a kernel": {
        **_SCALARS,
        **_MEMORY,
        **_forever("cuda"),
        "cuda.tensor_map": Lifetime(until="pass-tensor-maps"),
        **dict.fromkeys(
            ("compute.grid", "compute.reduce", "compute.sink", "compute.yield"),
            Lifetime(until="inline-compute"),
        ),
        **dict.fromkeys(("compute.load", "compute.store", "task"), Lifetime(until="lower-task")),
    },
}
"""For each place the ops that may stand in it, by the name of the op, else of its dialect."""


@dataclass(frozen=True)
class Trace:
    """Something other than an op that a pass takes away from kernels.

    Attributes:
        what: its name.
        by: the pass that takes it away.
        until: the pass after which it must be gone; other passes may run before `by`.
        is_there: tells whether an op of a kernel, or the kernel itself, shows it.
    """

    what: str
    by: str
    until: str
    is_there: Callable[[Operation], bool]


def _has_unknown_map(op: Operation) -> bool:
    kind = optional_memref_type(op.memref) if isinstance(op, memref.AllocaOp) else None
    return kind is not None and isinstance(kind.layout, TaskMapAttr) and kind.layout.data is None


def _is_register_tile(op: Operation) -> bool:
    return isinstance(op, memref.AllocaOp) and space_of(op.memref.type) is Space.REGISTER


def _has_deep_argument(op: Operation) -> bool:
    if not isinstance(op, KernelOp):
        return False
    kinds = [optional_memref_type(argument) for argument in op.arguments]
    return any(kind is not None and kind.get_num_dims() != 1 for kind in kinds)


TRACES = (
    Trace("a tile with the map '?'", "schedule", "inline-compute", _has_unknown_map),
    Trace("a register tile", "lower-task", "lower-task", _is_register_tile),
    Trace("an argument that is not flat", "flatten-memrefs", "flatten-memrefs", _has_deep_argument),
    Trace(
        "a loop with values",
        "demote-scf-values",
        "demote-scf-values",
        lambda op: isinstance(op, scf.ForOp) and bool(op.results),
    ),
)


def check_leftovers(module: ModuleOp, has_run: Callable[[str], bool]) -> None:
    """Check that every op of a module may stand where it stands.

    Args:
        module: the module.
        has_run: tells whether a pass has run on it, by name.
    """
    for op, place in _ops_with_places(module, "the module"):
        lifetimes = PLACES[place]
        lifetime = lifetimes.get(op.name) or lifetimes.get(op.dialect_name())
        if lifetime is None:
            legal = ", ".join(lifetimes)
            raise illegal(op, f"{op.name} does not stand in {place}", f"there may be {legal}")
        if lifetime.until is not None and has_run(lifetime.until):
            raise illegal(
                op,
                f"{op.name} is left in {place}",
                f"{lifetime.until} should have taken it away",
            )
        if lifetime.since is not None and not has_run(lifetime.since):
            raise illegal(
                op, f"{op.name} is in {place} too early", f"{lifetime.since} is what makes it"
            )
        if place == "a kernel" or isinstance(op, KernelOp):
            _check_traces(op, has_run)


def _check_traces(op: Operation, has_run: Callable[[str], bool]) -> None:
    """Check that an op of a kernel shows nothing that a pass has taken away."""
    for trace in TRACES:
        if has_run(trace.until) and trace.is_there(op):
            raise illegal(op, f"{trace.what} is left", f"{trace.by} should have taken it away")


def _ops_with_places(parent: Operation, place: str) -> Iterator[tuple[Operation, str]]:
    """Give every op inside of another, in program order, with the place that it stands in."""
    for op in (op for region in parent.regions for block in region.blocks for op in block.ops):
        yield op, place
        yield from _ops_with_places(op, _place_inside(op, place))


def _place_inside(op: Operation, place: str) -> str:
    """Return what the regions of an op are, given the place of the op."""
    match op:
        case KernelOp():
            return "a kernel"
        case FuncOp():
            return "a host function"
        case FusionOp():
            return "a fusion"
        case GridOp() | ReduceOp() | SinkOp() if place != "a kernel":
            return "the body of a grid"
        case _:
            return place
