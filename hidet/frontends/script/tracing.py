"""The emitter of the function that is traced: insertion point, locations, launch attributes."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from typing_extensions import override
from xdsl.dialects import scf
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from hidet.arch.chips import MAX_SHARED_BYTES
from hidet.dialects.cuda.attributes import Dimension
from hidet.dialects.cuda.instructions import IdOp
from hidet.dialects.locations import line_location
from hidet.errors import ScriptError
from hidet.rewriting.builder import Bookmark, Index, KernelBuilder

MAX_DEPTH = 32
"""The depth of inlined calls from which on recursion is assumed."""

AnyOp = TypeVar("AnyOp", bound=Operation)


@dataclass
class LaunchShape:
    """The values of a kernel's attributes; extents are integers or values of type index."""

    grid_dim: tuple[Index, ...] | None = None
    block_dim: tuple[Index, ...] | None = None
    func_name: str | None = None
    func_kind: str | None = None
    label: str | None = None
    min_blocks: int | None = None
    dynamic_smem_bytes: int = 0
    may_alias: bool = False
    cluster_dim: tuple[int, int, int] = (1, 1, 1)


class Emitter(KernelBuilder):
    """Builds the IR of one function; each op gets the location of the user's line.

    Attributes:
        kind: the kind of the function, see `attributes.KINDS`.
        module: the `IRModule` that the function belongs to.
        shape: the attributes of the kernel.
        shared_bytes: the static shared memory allocated so far.
        in_parallel: whether an enclosing loop is parallel on the CPU.
    """

    def __init__(self, entry: Block, kind: str = "cuda_kernel") -> None:
        super().__init__(InsertPoint.at_end(entry))
        self.entry = entry
        self.kind = kind
        self.module: Any = None
        self.shape = LaunchShape()
        self.shared_bytes = 0
        self.in_parallel = False
        self._depth = 0
        self._ids: dict[tuple[type[IdOp], Dimension], IdOp] = {}
        self.location: LocationAttr = UnknownLoc()
        self._location = cache(line_location)

    @property
    def is_nested(self) -> bool:
        """Whether a callee is being inlined."""
        return self._depth > 0

    def check_shared_bytes(self) -> None:
        """Check that the kernel does not exceed the shared memory of every GPU."""
        total = self.shared_bytes + self.shape.dynamic_smem_bytes
        if total > MAX_SHARED_BYTES:
            raise ScriptError(
                f"the kernel has {total} bytes of shared memory so far, of at most "
                f"{MAX_SHARED_BYTES}",
                hint="use smaller tiles or a narrower type",
            )

    # Where ops come from.

    @override
    def locate(self, op: Operation) -> None:
        """Set the location of an op that has none to the current line."""
        if type(op.location) is UnknownLoc:
            op.location = self.location

    def set_line(self, file: str, line: int) -> None:
        """Set the current line."""
        self.location = self._location(file, line)

    def set_column(self, column: int) -> None:
        """Add a column to the current location, for ops that later checks report."""
        line = self.location
        if isinstance(line, FileLineColLoc):
            self.location = FileLineColLoc(line.filename, line.line, IntAttr(column))

    @contextmanager
    def nested(self, name: str) -> Generator[None]:
        """Inline a callee, then return to the location of the call."""
        if self._depth == MAX_DEPTH:
            raise ScriptError(
                f"'{name}' calls itself", hint="functions of a script cannot be recursive"
            )
        line = self.location
        self._depth += 1
        yield
        self._depth -= 1
        self.location = line

    # Ids.

    def id(self, kind: type[IdOp], dimension: Dimension) -> SSAValue:
        """Return an id along a dimension; its op is created once, at the start of the kernel."""
        op = self._ids.get((kind, dimension))
        if op is None:
            with self.at(Bookmark(self.entry, None)):
                op = self._ids[kind, dimension] = self.insert(kind(dimension))
        return op.result

    def name_ids(self) -> None:
        """Name the ids that the user has not named."""
        for op in self._ids.values():
            op.result.name_hint = op.result.name_hint or op.name_among(self._ids.values())

    # Branches.

    @contextmanager
    def arm(self) -> Generator[Block]:
        """Build a detached block: an arm of a branch, or a body."""
        block = Block()
        with self.inside(block):
            yield block

    def finish_arm(self, block: Block, values: Sequence[SSAValue] = ()) -> None:
        """Terminate an arm with a yield of its values."""
        with self.inside(block):
            self.insert(scf.YieldOp(*values))

    def adopt(self, block: Block) -> None:
        """Move the ops of an arm to the insertion point, where they run unconditionally."""
        for op in list(block.ops):
            op.detach()
            self.insert(op)


_EMITTER: ContextVar[Emitter | None] = ContextVar("hidet_script_emitter", default=None)


@contextmanager
def tracing(emitter: Emitter) -> Generator[None]:
    """Make an emitter the current one."""
    token = _EMITTER.set(emitter)
    try:
        yield
    finally:
        _EMITTER.reset(token)


def is_tracing() -> bool:
    """Return whether a function is being traced."""
    return _EMITTER.get() is not None


def current(what: str = "what is computed here") -> Emitter:
    """Return the emitter of the function that is being traced.

    Raises:
        ScriptError: no function is being traced.
    """
    emitter = _EMITTER.get()
    if emitter is None:
        raise ScriptError(
            f"{what} exists in a kernel only", hint="use it in a function under @hidet.script"
        )
    return emitter


def insert(op: AnyOp) -> AnyOp:
    """Insert an operation at the current insertion point."""
    return current(f"'{op.name}'").insert(op)
