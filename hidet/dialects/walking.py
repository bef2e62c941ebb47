"""Traversal of the IR: parents, nested blocks and nested ops."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from typing import TypeVar, cast

from xdsl.ir import Block, Operation, Region, SSAValue

Kind = TypeVar("Kind", bound=Operation)
Node = TypeVar("Node", bound=Hashable)


def blocks_in(op: Operation) -> Sequence[Block]:
    """Return the blocks of the regions of an op."""
    blocks: list[Block] = []
    for region in op.regions:
        block = region.first_block
        while block is not None:
            blocks.append(block)
            block = block.next_block
    return blocks


def ops_of_block(block: Block) -> list[Operation]:
    """Return the ops of a block. A list of xDSL's `block.ops` takes three times as long."""
    ops: list[Operation] = []
    op = block.first_op
    while op is not None:
        ops.append(op)
        op = op._next_op  # pyright: ignore[reportPrivateUsage]  # without a call
    return ops


def ops_in(
    root: Operation | Region, *, backwards: bool = False, inner_first: bool = False
) -> list[Operation]:
    """Return the ops of a region, or an op and those in its regions, in program order.

    The list is that of xDSL's `walk`, whose nested generators take several times as long: the order
    is reversed if `backwards`, and the ops in the regions of an op precede it if `inner_first`.
    """
    ops: list[Operation] = []
    is_postorder = inner_first != backwards
    if type(root) is Region:
        _collect(root, ops, is_postorder)
    else:
        op = cast("Operation", root)
        for region in op.regions:
            _collect(region, ops, is_postorder)
        ops.insert(len(ops) if is_postorder else 0, op)
    if backwards:
        ops.reverse()
    return ops


def _collect(region: Region, ops: list[Operation], is_postorder: bool) -> None:
    """Append the ops of a region, nested ones included."""
    block, append = region.first_block, ops.append
    while block is not None:
        op = block._first_op  # pyright: ignore[reportPrivateUsage]  # without a call
        while op is not None:
            if op.regions:
                start = len(ops)
                for inner in op.regions:
                    _collect(inner, ops, is_postorder)
                ops.insert(len(ops) if is_postorder else start, op)
            else:
                append(op)
            op = op._next_op  # pyright: ignore[reportPrivateUsage]
        block = block._next_block  # pyright: ignore[reportPrivateUsage]


def ops_of_class(root: Operation | Region, *kinds: type[Kind]) -> list[Kind]:
    """Return the ops of some classes in a region, or an op and its regions, in program order."""
    ops = ops_in(root)
    found = {kind for kind in set(map(type, ops)) if _is_one_of(kind, kinds)}
    return cast("list[Kind]", [op for op in ops if type(op) in found])


@cache
def _is_one_of(kind: type[Operation], kinds: tuple[type[Operation], ...]) -> bool:
    return issubclass(kind, kinds)


def values_in(root: Operation) -> Iterator[SSAValue]:
    """Yield the values that an op and the ops and blocks in its regions define."""
    for op in ops_in(root):
        yield from op.results
        for block in blocks_in(op):
            yield from block.args


def parents_of(op: Operation) -> Iterator[Operation]:
    """Yield the ops around an op, innermost first."""
    parent = op.parent_op()
    while parent is not None:
        yield parent
        parent = parent.parent_op()


def parent_of_type(op: Operation, kind: type[Kind]) -> Kind | None:
    """Return the innermost op of a class around an op, None if there is none."""
    return next((parent for parent in parents_of(op) if isinstance(parent, kind)), None)


def reached(start: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield all that can be reached from a start, which is included, each once."""
    pending = list(dict.fromkeys(start))
    found = set(pending)
    for node in pending:  # which grows
        yield node
        for other in following(node):
            if other not in found:
                found.add(other)
                pending.append(other)
