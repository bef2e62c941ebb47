"""Op legality by position: which ops may occur where, between which passes."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from hidet.dialects import graph
from hidet.dialects.compute import FusionOp, GridOp, ReduceOp, SinkOp
from hidet.dialects.cuda import KernelOp, Space, space_of
from hidet.dialects.shaped import optional_memref_type
from hidet.dialects.task import TaskMapAttr
from hidet.legality.report import illegal


@dataclass(frozen=True)
class Lifetime:
    """The passes that create and lower ops of a kind.

    Without these, they may occur from the start, and may stay.
    """

    since: str | None = None
    until: str | None = None


def _forever(*names: str) -> dict[str, Lifetime]:
    return dict.fromkeys(names, Lifetime())


_SCALARS = _forever("arith", "math", "scf")
_MEMORY = _forever("memref.alloca", "memref.load", "memref.store")

_ANCHORS = [op.name for op in graph.Graph.operations if issubclass(op, graph.AnchorOp)]

PLACES: Mapping[str, Mapping[str, Lifetime]] = {
    "the module": _forever("func.func", "cuda.kernel"),
    "a host function": {
        **_SCALARS,
        **_MEMORY,
        **_forever("func.return", "cuda.floormodsi", "cuda.view", "cuda.printf"),
        "graph": Lifetime(until="lower-graph-to-compute"),
        **dict.fromkeys(_ANCHORS, Lifetime(until="fuse")),
        "graph.constant": Lifetime(until="plan-memory"),
        "graph.call_kernel": Lifetime(until="schedule"),
        "compute.grid": Lifetime(since="lower-graph-to-compute", until="fuse"),
        "compute.fusion": Lifetime(since="fuse", until="schedule"),
        "cuda.launch": Lifetime(since="schedule"),
        "cuda.buffer": Lifetime(since="plan-memory"),
        "cuda.tensor_map": Lifetime(since="pass-tensor-maps"),
        "memref.copy": Lifetime(since="plan-memory"),
    },
    "a fusion": _forever("compute.grid", "compute.yield", *_ANCHORS),
    "the body of a grid": {
        **_SCALARS,
        **_forever(
            *("cuda.checked_divisor", "cuda.checked_index", "cuda.floormodsi", "cuda.function")
        ),
        **_forever("compute.load", "compute.reduce", "compute.yield"),
    },
    "a kernel": {
        **_SCALARS,
        **_MEMORY,
        **_forever("cuda"),
        "cuda.tensor_map": Lifetime(until="hoist-tensor-maps"),
        **dict.fromkeys(
            ("compute.grid", "compute.reduce", "compute.sink", "compute.yield"),
            Lifetime(until="inline-compute"),
        ),
        **dict.fromkeys(("compute.load", "compute.store", "task"), Lifetime(until="lower-task")),
    },
}
"""The legal ops by their surrounding op, by op name or dialect name."""


@dataclass(frozen=True)
class Trace:
    """Something other than an op that a pass lowers; an op of a kernel, or the kernel, has it.

    It is illegal after the pass `until`, if other passes may run before the one that lowers it.
    """

    what: str
    by: str
    is_there: Callable[[Operation], bool]
    until: str = ""


def _has_deep_argument(op: Operation) -> bool:
    if not isinstance(op, KernelOp):
        return False
    kinds = [optional_memref_type(argument) for argument in op.arguments]
    return any(kind is not None and kind.get_num_dims() != 1 for kind in kinds)


TRACES = (
    Trace(
        "a tile with the map '?'",
        "schedule",
        lambda op: isinstance(op, memref.AllocaOp) and op.memref.type.layout == TaskMapAttr(None),
        until="inline-compute",
    ),
    Trace(
        "a register tile",
        "lower-task",
        lambda op: isinstance(op, memref.AllocaOp) and space_of(op.memref.type) is Space.REGISTER,
    ),
    Trace("an argument that is not flat", "flatten-memrefs", _has_deep_argument),
    Trace(
        "a loop with values",
        "demote-scf-values",
        lambda op: isinstance(op, scf.ForOp) and bool(op.results),
    ),
)


def check_leftovers(module: ModuleOp, has_run: Callable[[str], bool]) -> None:
    """Check that every op of a module is legal where it is."""
    for op, place in _ops_with_places(module, "the module"):
        lifetimes = PLACES[place]
        lifetime = lifetimes.get(op.name) or lifetimes.get(op.dialect_name())
        if lifetime is None:
            legal = ", ".join(lifetimes)
            raise illegal(op, f"{op.name} is not legal in {place}", f"legal are {legal}")
        if lifetime.until is not None and has_run(lifetime.until):
            hint = f"{lifetime.until} should have lowered it"
            raise illegal(op, f"{op.name} is left in {place}", hint)
        if lifetime.since is not None and not has_run(lifetime.since):
            raise illegal(op, f"{op.name} is in {place} too early", f"{lifetime.since} creates it")
        if place == "a kernel" or isinstance(op, KernelOp):
            for trace in TRACES:
                if has_run(trace.until or trace.by) and trace.is_there(op):
                    hint = f"{trace.by} should have lowered it"
                    raise illegal(op, f"{trace.what} is left", hint)


def _ops_with_places(parent: Operation, place: str) -> Iterator[tuple[Operation, str]]:
    """Yield every nested op in program order, with the kind of the surrounding op."""
    for op in (op for region in parent.regions for block in region.blocks for op in block.ops):
        yield op, place
        inside = place if place == "a kernel" else _PLACES_INSIDE.get(type(op), place)
        yield from _ops_with_places(op, inside)


_PLACES_INSIDE: dict[type[Operation], str] = {
    KernelOp: "a kernel",
    FuncOp: "a host function",
    FusionOp: "a fusion",
    **dict.fromkeys((GridOp, ReduceOp, SinkOp), "the body of a grid"),
}
"""The kinds of the regions of ops outside of kernels; others do not matter."""
