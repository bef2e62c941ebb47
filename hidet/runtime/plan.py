"""The plan of a compiled graph: its kernels, its launches, and the layout of its memory.

A plan and the binaries of its kernels are all that an executor needs. It is stored in the cache as
JSON, and loaded without the compiler.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from hidet.arch.limits import align
from hidet.arch.roofline import Work
from hidet.errors import CacheError
from hidet.runtime.checked_json import decode, encode, parse
from hidet.runtime.specs import ITEM_SIZES, Scalar, TensorMapSpec, TensorSpec

SCHEMA = 6
"""The version of the JSON format. A plan of another version is rejected."""

Space = Literal["input", "output", "packed_input", "packed_output", "arena", "constant", "prepared"]
"""What holds an argument: a tensor of its own, or bytes in the last input, in the last output, in
the arena or in the prepared memory."""

WRITTEN: tuple[Space, ...] = ("input", "output", "packed_output")
"""The memory of callers that a program writes."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of an artifact in the cache, with its launch configuration.

    `symbol` is its name in the binary, `shared_bytes` the dynamic shared memory of a block, and
    `work` the work of a launch, if known.
    """

    symbol: str
    artifact_key: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    cluster: tuple[int, ...]
    shared_bytes: int
    work: Work | None = None


class Argument(NamedTuple):
    """A pointer argument.

    `at` is the position of an input or output, the byte offset into other memory, or the name of a
    constant.
    """

    space: Space
    at: int | str

    @property
    def is_whole(self) -> bool:
        """Whether the argument is a tensor of its own, not a part of other memory."""
        return self.space in ("input", "output", "constant")


@dataclass(frozen=True)
class TensorMap:
    """A tensor map argument, passed by value; the executor encodes it for the buffer's address.

    `offset` is the byte offset of the tensor in the buffer.
    """

    buffer: Argument
    offset: int
    spec: TensorMapSpec


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel.

    Attributes:
        kernel: position in `Plan.kernels`.
        writes: the positions of the arguments that the kernel writes.
        dependencies: earlier launches of the same list that this one depends on, transitively
            reduced.
        edges: the kind of these dependencies. With programmatic ones, the kernel starts earlier
            and synchronizes itself.
    """

    kernel: int
    arguments: tuple[Argument | Scalar | TensorMap, ...]
    writes: tuple[int, ...]
    dependencies: tuple[int, ...]
    edges: Literal["full", "programmatic"] = "full"

    @property
    def buffers(self) -> tuple[Argument | None, ...]:
        """The memory behind each argument; None for scalars."""
        memory = (each.buffer if isinstance(each, TensorMap) else each for each in self.arguments)
        return tuple(None if isinstance(each, Scalar) else each for each in memory)


@dataclass(frozen=True)
class Copy:
    """A copy of a tensor into another one of equal type, ahead of the launches or after them.

    The target is an output that no kernel writes, or an input that the program updates; `size` is
    that of the tensor in bytes.
    """

    source: Argument
    target: Argument
    size: int
    when: Literal["ahead", "after"] = "after"


@dataclass(frozen=True)
class Plan:
    """A compiled graph without its binaries.

    Attributes:
        target: "cpu", or the architecture of the GPU such as "sm_90a".
        constants: the specs of the weights, by name, in the order in which callers pass them.
        prepare: the launches that run once per weight set: they read constants and fill the
            prepared memory.
        forward: the launches of every call.
        copies: copies to outputs that are an input, a constant, a prepared tensor or another
            output, and to updated inputs that kernels cannot write in place.
        arena_bytes: the size of the scratch memory of `prepare` or `forward`.
        prepared_bytes: the size of the memory that is kept per weight set.
    """

    target: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    constants: dict[str, TensorSpec]
    kernels: tuple[Kernel, ...]
    prepare: tuple[Launch, ...]
    forward: tuple[Launch, ...]
    copies: tuple[Copy, ...]
    arena_bytes: int
    prepared_bytes: int

    @property
    def updated_inputs(self) -> frozenset[int]:
        """The numbers of the inputs that the program updates."""
        written = [
            launch.buffers[position] for launch in self.forward for position in launch.writes
        ]
        written += [copy.target for copy in self.copies]
        return frozenset(
            int(each.at) for each in written if each is not None and each.space == "input"
        )

    def copied(self, space: Literal["input", "output"]) -> frozenset[int]:
        """Return the numbers of the inputs or outputs that are copied from or to."""
        ends = (end for copy in self.copies for end in (copy.source, copy.target))
        return frozenset(int(end.at) for end in ends if end.space == space)

    def preparing_in_calls(self) -> "Plan":
        """Return the plan whose forward launches begin with those of `prepare`.

        Prepared memory is a part of its arena.
        """
        base = align(self.arena_bytes)
        waited_for = {number for launch in self.prepare for number in launch.dependencies}
        last = tuple(n for n in range(len(self.prepare)) if n not in waited_for)

        def behind(launch: Launch) -> Launch:
            shifted = tuple(number + len(self.prepare) for number in launch.dependencies)
            edges = launch.edges if shifted else "full"
            return replace(launch, dependencies=shifted or last, edges=edges)

        forward = (*self.prepare, *map(behind, self.forward))
        return replace(
            self,
            prepare=(),
            forward=tuple(
                replace(each, arguments=tuple(_in_arena(a, base) for a in each.arguments))
                for each in forward
            ),
            copies=tuple(
                replace(
                    each,
                    source=_memory_in_arena(each.source, base),
                    when="after" if each.source.space == "prepared" else each.when,
                )
                for each in self.copies
            ),
            arena_bytes=base + self.prepared_bytes,
            prepared_bytes=0,
        )

    def to_json(self) -> str:
        """Serialize the plan; equal plans have equal text."""
        return encode({"schema": SCHEMA, "plan": self}, indent=1)

    @staticmethod
    def from_json(text: str) -> "Plan":
        """Deserialize a plan.

        Raises:
            CacheError: the text is not JSON, is of another schema, a field is missing, unknown or
                of a wrong type, or has a dangling reference.
        """
        wrapper = decode(_Document, parse(text, "document"), "document")
        plan = wrapper.plan
        for problem in find_problems(plan):
            raise CacheError(f"the plan contradicts itself: {problem}")
        return plan


@dataclass(frozen=True)
class _Document:
    """The root object of the JSON format."""

    schema: Literal[6]
    plan: Plan


def _in_arena(argument: Argument | Scalar | TensorMap, base: int) -> Argument | Scalar | TensorMap:
    """Return an argument with prepared memory at this offset in the arena."""
    if isinstance(argument, TensorMap):
        return replace(argument, buffer=_memory_in_arena(argument.buffer, base))
    return _memory_in_arena(argument, base) if isinstance(argument, Argument) else argument


def _memory_in_arena(memory: Argument, base: int) -> Argument:
    match memory:
        case Argument("prepared", int(at)):
            return Argument("arena", base + at)
        case _:
            return memory


def find_problems(plan: Plan) -> Iterator[str]:
    """Yield the dangling references and invalid numbers of a plan."""
    for size in ("arena_bytes", "prepared_bytes"):
        if getattr(plan, size) < 0:
            yield f"{size} is negative"
    specs = (*plan.inputs, *plan.outputs, *plan.constants.values())
    if any(extent < 0 for spec in specs for extent in spec.shape):
        yield "a tensor has a negative extent"
    for kernel in plan.kernels:
        sizes = (kernel.grid, kernel.block, kernel.cluster)
        if any(len(size) != 3 or min(size) < 1 for size in sizes) or kernel.shared_bytes < 0:
            yield f"kernel '{kernel.symbol}' has an impossible launch shape"
    for stage, launches in (("prepare", plan.prepare), ("forward", plan.forward)):
        for number, launch in enumerate(launches):
            for problem in _launch_problems(plan, stage, number, launch):
                yield f"launch {number} of {stage} {problem}"
    for copy in plan.copies:
        if not _exists(plan, copy.source):
            yield f"a copy reads {copy.source}"
        if copy.target.space not in WRITTEN or not _exists(plan, copy.target):
            yield f"a copy fills {copy.target}"


def _launch_problems(plan: Plan, stage: str, number: int, launch: Launch) -> Iterator[str]:
    if not 0 <= launch.kernel < len(plan.kernels):
        yield f"uses kernel {launch.kernel} of {len(plan.kernels)}"
    forbidden = (*WRITTEN, "packed_input") if stage == "prepare" else ()
    buffers = launch.buffers
    for argument, buffer in zip(launch.arguments, buffers, strict=True):
        if buffer is not None and (buffer.space in forbidden or not _exists(plan, buffer)):
            yield f"has the argument {argument}"
        if isinstance(argument, TensorMap) and not _is_possible(argument):
            yield f"has the impossible tensor map {argument}"
        if isinstance(argument, Scalar) and argument.bits >> 8 * ITEM_SIZES[argument.dtype]:
            yield f"has the impossible number {argument}"
    writable = ("arena", "prepared") if stage == "prepare" else ("arena", *WRITTEN)
    for position in launch.writes:
        if not 0 <= position < len(launch.arguments):
            yield f"writes argument {position} of {len(launch.arguments)}"
        elif (buffer := buffers[position]) is None or buffer.space not in writable:
            yield f"writes {launch.arguments[position]}"
    if any(not 0 <= dependency < number for dependency in launch.dependencies):
        yield f"waits for {launch.dependencies}"


def _is_possible(tensor_map: TensorMap) -> bool:
    """Return whether a tensor map can be encoded."""
    spec = tensor_map.spec
    rank = len(spec.shape)
    steps = (step for each in spec.pixels[2:] for step in each)
    extents = (*spec.shape, *spec.strides, *spec.box, *steps)
    is_known = spec.swizzle in (0, 32, 64, 128) and tensor_map.offset >= 0
    is_known = is_known and (not spec.tf32 or spec.dtype == "f32")
    has_rank = len(spec.strides) == rank - 1 and len(spec.box) == (2 if spec.pixels else rank)
    has_pixels = [len(each) for each in spec.pixels] in ([], [rank - 2] * 3)
    return is_known and has_rank and has_pixels and min(extents, default=0) > 0


def _exists(plan: Plan, argument: Argument) -> bool:
    """Return whether the plan declares the memory of an argument."""
    if argument.space == "constant":
        return argument.at in plan.constants
    limits = {
        "input": len(plan.inputs) - 1,
        "output": len(plan.outputs) - 1,
        "packed_input": plan.inputs[-1].nbytes if plan.inputs else -1,
        "packed_output": plan.outputs[-1].nbytes if plan.outputs else -1,
        "arena": plan.arena_bytes,
        "prepared": plan.prepared_bytes,
    }
    return isinstance(argument.at, int) and 0 <= argument.at <= limits[argument.space]
