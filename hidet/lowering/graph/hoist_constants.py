"""The pass `hoist-constants`: moves computation on constants into the prepare function."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from hidet.dialects import graph
from hidet.dialects.graph.base import tensor_type
from hidet.dialects.host_functions import FORWARD, PREPARE, prepared_name
from hidet.dialects.locations import source_line
from hidet.errors import PassError
from hidet.lowering.graph.compute_rules.scalars import SCALAR_RULES
from hidet.rewriting.locations import locate

VIEWS = (
    *(graph.ReshapeOp, graph.PermuteOp, graph.ExpandOp, graph.SliceOp, graph.AsStridedOp),
    *(graph.ResampleOp, graph.WindowsOp),
)
"""Views, which are free in the kernel that reads them."""
CONSTANTS = (graph.ConstantOp, graph.FillOp, graph.IotaOp)
"""Operations without operands."""
FREE = (*VIEWS, *CONSTANTS)


@dataclass(frozen=True)
class Known:
    """A value that depends only on constants.

    Attributes:
        number: the value number: equal for equal computations on the same constants.
        op: the defining op.
        reads: the classes of the constants that it depends on.
        elementwise: whether it is computed elementwise from constants.
        work: the number of ops, without views and casts; 2 means at least 2.
    """

    number: int
    op: graph.GraphOp
    reads: frozenset[type[graph.GraphOp]]
    elementwise: bool
    work: int

    @property
    def is_vector(self) -> bool:
        """Whether the value has at most one dimension of extent > 1."""
        shape = self.op.result_type.get_shape()
        return max(shape, default=1) == prod(shape)

    @property
    def worthwhile(self) -> bool:
        """Whether to precompute the value.

        One op on data is worth it. A vector computed elementwise from weights needs two: one is
        cheap where it is used and always up to date, whereas the scale of a batch norm would be
        recomputed per pixel. Ranges are free inside a kernel, so they need two (comparing two
        ranges, as in a causal mask, is cheaper than loading the result); fills never are.
        """
        if graph.ConstantOp in self.reads and self.elementwise and self.is_vector:
            return self.work > 1
        if graph.ConstantOp in self.reads:
            return self.work > 0
        return self.work > 1 and graph.IotaOp in self.reads


@dataclass
class Constants:
    """The values of a function that depend only on constants."""

    known: dict[SSAValue, Known] = field(default_factory=dict[SSAValue, Known])
    _numbers: dict[object, int] = field(default_factory=dict[object, int])

    def visit(self, op: Operation) -> None:
        """Classify the result of an op, after its operands."""
        if not isinstance(op, graph.GraphOp):
            return
        operands = [self.known.get(operand) for operand in op.operands]
        found = [operand for operand in operands if operand is not None]
        if len(found) < len(operands) or (not operands and type(op) not in CONSTANTS):
            return
        key = (
            type(op),
            tuple(sorted(op.properties.items())),
            op.result.type,
            tuple(operand.number for operand in found),
        )
        self.known[op.result] = Known(
            number=self._numbers.setdefault(key, len(self._numbers)),
            op=op,
            reads=frozenset({type(op)} if not operands else ()).union(*(k.reads for k in found)),
            elementwise=(type(op) in FREE or type(op) in SCALAR_RULES)
            and all(k.elementwise for k in found),
            work=min(2, sum(k.work for k in found) + (type(op) not in (*FREE, graph.CastOp))),
        )

    def roots(self) -> list[Known]:
        """Return the values to precompute, behind views: worthwhile, with other users."""
        roots: dict[SSAValue, Known] = {}
        for value, found in self.known.items():
            if all(self._is_known(use.operation) for use in value.uses):
                continue
            while isinstance(found.op, VIEWS):
                found = self.known[found.op.x]
            if found.worthwhile:
                roots[found.op.result] = found
        return list(roots.values())

    def _is_known(self, op: Operation) -> bool:
        return isinstance(op, graph.GraphOp) and op.result in self.known


def prepare_function(constants: Constants, roots: Sequence[Known]) -> FuncOp:
    """Return the function @prepare, which computes values, operands first, and equal ones once."""
    block = Block()
    copies: dict[int, SSAValue] = {}
    pending = [*reversed(roots)]
    while pending:
        found = pending[-1]
        operands = [constants.known[operand] for operand in found.op.operands]
        missing = [operand for operand in operands if operand.number not in copies]
        if missing:
            pending.extend(missing)
            continue
        pending.pop()
        if found.number not in copies:
            values = [copies[operand.number] for operand in operands]
            copy = found.op.clone(dict(zip(found.op.operands, values, strict=True)))
            block.add_op(copy)
            copies[found.number] = copy.results[0]
    results = [copies[number] for number in dict.fromkeys(root.number for root in roots)]
    types: list[Attribute] = [value.type for value in results]
    block.add_op(ReturnOp(*results))
    return FuncOp(PREPARE, ([], types), Region(block))


def hoist(forward: FuncOp) -> FuncOp | None:
    """Move computation on constants out of a function; return @prepare, None if it is empty."""
    constants = Constants()
    for op in forward.body.block.ops:
        constants.visit(op)
    roots = constants.roots()
    if not roots:
        return None
    # Clone all before replacing any: one may depend on another.
    prepare = prepare_function(constants, roots)
    loaded: dict[int, graph.ConstantOp] = {}
    for root in roots:
        if root.number not in loaded:
            name = prepared_name(len(loaded))
            loaded[root.number] = graph.ConstantOp(name, result=tensor_type(root.op.result))
            loaded[root.number].location = root.op.location
        root.op.result.replace_all_uses_with(loaded[root.number].result)
    Rewriter.insert_op(list(loaded.values()), InsertPoint.at_start(forward.body.block))
    for found in reversed(constants.known.values()):  # users first
        if not found.op.result.uses:
            Rewriter.erase_op(found.op)
    locate(prepare, forward.location)
    return prepare


class HoistConstantsPass(ModulePass):
    """Move computation on constants from @forward to `func.func @prepare() -> (tensor...)`.

    In @forward, result N of @prepare is `graph.constant "preparedN"`.

    - A value is constant if it is computed from `graph.constant`, `iota`, `fill` alone.
    - Only maximal values are prepared, those with a non-constant user.
    - Views (reshape, permute, expand, slice, as_strided, windows) are not prepared, since kernels
      read through them; their sources are.
    - A value is prepared if it takes at least one op on data, or two if it is a vector computed
      elementwise from weights, or made of ranges; casts and views do not count. Other values are
      computed where they are used.
    - Equal values are prepared once.
    """

    name = "hoist-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Hoist from the function @forward of a module."""
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp)}
        if FORWARD not in functions:
            return
        forward = functions[FORWARD]
        prepare = hoist(forward)
        if prepare is None:
            return
        if PREPARE in functions:
            raise PassError(
                f"there is already a function @{PREPARE}, and more to hoist",
                pass_name=self.name,
                where=source_line(forward),
            )
        Rewriter.insert_op(prepare, InsertPoint.before(forward))
