"""The pass `hoist-constants`: what depends on constants alone is computed once a weight set."""

from collections.abc import Iterable
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

VIEWS = (graph.ReshapeOp, graph.PermuteOp, graph.ExpandOp, graph.SliceOp, graph.AsStridedOp)
"""Operations that cost nothing in the kernel that reads them."""
DATA = (graph.ConstantOp, graph.LiteralOp)
"""Constants that have to be read from memory: weights, and data of the program."""
CONSTANTS = (*DATA, graph.FillOp, graph.IotaOp)
"""Operations without operands."""
FREE = (*VIEWS, *CONSTANTS)


@dataclass(frozen=True)
class Known:
    """A value that depends on constants alone.

    Attributes:
        number: equal for values that are computed in the same way from the same constants.
        op: the operation that computes it.
        reads: what it depends on: the classes of its constants.
        elementwise: whether each element takes a few scalar operations on elements of constants.
        work: how many operations compute it, views and casts not among them; 2 stands for more.
    """

    number: int
    op: graph.GraphOp
    reads: frozenset[type[graph.GraphOp]]
    elementwise: bool
    work: int

    @property
    def is_vector(self) -> bool:
        """Whether the value extends along one dimension at most."""
        shape = self.op.result_type.get_shape()
        return max(shape, default=1) == prod(shape)

    @property
    def worthwhile(self) -> bool:
        """Whether to keep the value instead of computing it where it is used.

        One operation on data is worth it. A vector that is elementwise on weights takes two: one
        costs little where the vector is used, and follows its weights there without anyone looking
        after it; the scale of a batch norm would be computed for each pixel. Ranges are made up
        inside a kernel for nothing, so they are worth it from two operations on (a comparison of
        two ranges, as in a causal mask, is cheaper than reading its result); fills alone never are.
        """
        if graph.ConstantOp in self.reads and self.elementwise and self.is_vector:
            return self.work > 1
        if not self.reads.isdisjoint(DATA):
            return self.work > 0
        return self.work > 1 and graph.IotaOp in self.reads


@dataclass
class Constants:
    """The values of a function that depend on constants alone."""

    known: dict[SSAValue, Known] = field(default_factory=dict[SSAValue, Known])
    _numbers: dict[object, int] = field(default_factory=dict[object, int])

    def visit(self, op: Operation) -> None:
        """Classify the result of an operation; its operands have been visited."""
        if not isinstance(op, graph.GraphOp):
            return
        operands = [self.known.get(operand) for operand in op.operands]
        found = [operand for operand in operands if operand is not None]
        if len(found) < len(operands) or (not operands and not isinstance(op, CONSTANTS)):
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
            elementwise=(isinstance(op, FREE) or type(op) in SCALAR_RULES)
            and all(k.elementwise for k in found),
            work=min(2, sum(k.work for k in found) + _work(op)),
        )

    def roots(self) -> list[Known]:
        """List what to prepare: the worthwhile values that others read, views looked through."""
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


def _work(op: graph.GraphOp) -> int:
    """Count an operation that computes something; a cast is as cheap as the load before it."""
    return 0 if isinstance(op, (*FREE, graph.CastOp)) else 1


@dataclass
class Preparation:
    """The function @prepare that is being written."""

    constants: Constants
    block: Block = field(default_factory=Block)
    _copies: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    _outputs: dict[int, str] = field(default_factory=dict[int, str])

    def prepare(self, root: Known) -> str:
        """Compute a value in @prepare, once for equal ones; give its name in @forward."""
        if root.number not in self._outputs:
            self._compute(root)
            self._outputs[root.number] = prepared_name(len(self._outputs))
        return self._outputs[root.number]

    def _compute(self, root: Known) -> None:
        """Copy what computes a value into @prepare, operands first."""
        pending = [root]
        while pending:
            found = pending[-1]
            operands = [self.constants.known[operand] for operand in found.op.operands]
            missing = [operand for operand in operands if operand.number not in self._copies]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            if found.number not in self._copies:
                copies = [self._copies[operand.number] for operand in operands]
                copy = found.op.clone(dict(zip(found.op.operands, copies, strict=True)))
                self.block.add_op(copy)
                self._copies[found.number] = copy.results[0]

    def function(self) -> FuncOp:
        """Finish the function that gives all prepared values, in the order of their names."""
        values = [self._copies[number] for number in self._outputs]
        types: list[Attribute] = [value.type for value in values]
        self.block.add_op(ReturnOp(*values))
        return FuncOp(PREPARE, ([], types), Region(self.block))


def hoist(forward: FuncOp) -> FuncOp | None:
    """Move what depends on constants alone out of a function; give @prepare if there is any."""
    constants = Constants()
    for op in forward.body.block.ops:
        constants.visit(op)
    roots = constants.roots()
    if not roots:
        return None
    preparation = Preparation(constants)
    loaded: dict[str, graph.ConstantOp] = {}
    # All are copied before any is replaced: the computation of one may read another.
    names = [preparation.prepare(root) for root in roots]
    for root, name in zip(roots, names, strict=True):
        if name not in loaded:
            loaded[name] = graph.ConstantOp(name, tensor_type(root.op.result))
            loaded[name].location = root.op.location
        root.op.result.replace_all_uses_with(loaded[name].result)
    Rewriter.insert_op(list(loaded.values()), InsertPoint.at_start(forward.body.block))
    erase_unused(reversed([found.op for found in constants.known.values()]))
    return preparation.function()


def erase_unused(ops: Iterable[Operation]) -> None:
    """Erase those of the ops that nothing uses; users come first."""
    for op in ops:
        if not any(result.uses for result in op.results):
            Rewriter.erase_op(op)


@dataclass(frozen=True)
class HoistConstantsPass(ModulePass):
    """Move what depends on constants alone from @forward to `func.func @prepare() -> (tensor...)`.

    In @forward, result N of @prepare is `graph.constant "preparedN"`. The rule:

    - A value is constant if it is computed from `graph.constant`, `literal`, `iota` and `fill`
      alone.
    - Only maximal values are prepared: those that something not constant reads.
    - Views (reshape, permute, expand, slice, as_strided) are never prepared, because a kernel
      reads through them for nothing; what they view is.
    - A value is prepared if it takes one operation or more on data, or two where it is a vector
      that is elementwise on weights, or made of ranges; casts and views do not count. All else is
      computed where it is used.
    - Values that are computed in the same way from the same constants are prepared once.
    """

    name = "hoist-constants"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Hoist from the function @forward of a module, if there is one."""
        functions = {f.sym_name.data: f for f in op.ops if isinstance(f, FuncOp)}
        if FORWARD not in functions:
            return
        forward = functions[FORWARD]
        prepare = hoist(forward)
        if prepare is None:
            return
        if PREPARE in functions:
            raise PassError(
                f"there is a function @{PREPARE} already, and more to put into it",
                pass_name=self.name,
                where=source_line(forward),
            )
        Rewriter.insert_op(prepare, InsertPoint.before(forward))
