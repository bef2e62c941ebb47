"""Operations as nested lists, which JSON can hold, for worker processes.

They are read in a fifth of the time that a parser takes for text. Each attribute is there once, as
text; operations refer to attributes, and to values in the order of their definition, by numbers.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias, get_args

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue, TypeAttribute
from xdsl.parser import Parser

from hidet.dialects.walking import ops_of_block

Packed: TypeAlias = list[Any]
"""An operation, a block or a value as a list."""

_REPEATED = (TypeAttribute, *get_args(LocationAttr))
"""What is printed once if it is equal; numbers that are equal may differ in their sign."""


def packed(op: Operation) -> Packed:
    """Return an operation that uses no values from outside, and whose blocks have no successors."""
    packer = _Packer()
    content = packer.operation(op)
    return [list(packer.texts), content]


def unpacked(context: Context, content: Packed) -> Operation:
    """Return the operation that was packed, without locations of block arguments."""
    texts, op = content
    return _Unpacker(context, texts).operation(op)


class _Packer:
    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        """The number of each attribute."""
        self._repeated = cache(self._number)
        self._values: dict[SSAValue, int] = {}

    def operation(self, op: Operation) -> Packed:
        return [
            op.name,
            [self._values[operand] for operand in op.operands],
            [[self._block(block) for block in region.blocks] for region in op.regions],
            [self._define(result) for result in op.results],
            self._dictionary(op.properties),
            self._dictionary(op.attributes),
            self._attribute(op.location),
        ]

    def _block(self, block: Block) -> Packed:
        arguments = [self._define(argument) for argument in block.args]
        return [arguments, [self.operation(op) for op in ops_of_block(block)]]

    def _define(self, value: SSAValue) -> Packed:
        self._values[value] = len(self._values)
        return [self._attribute(value.type), value.name_hint]

    def _dictionary(self, attributes: Mapping[str, Attribute]) -> dict[str, int]:
        return {name: self._attribute(attribute) for name, attribute in attributes.items()}

    def _attribute(self, attribute: Attribute) -> int:
        number = self._repeated if isinstance(attribute, _REPEATED) else self._number
        return number(attribute)

    def _number(self, attribute: Attribute) -> int:
        return self.texts.setdefault(str(attribute), len(self.texts))


class _Unpacker:
    def __init__(self, context: Context, texts: Sequence[str]) -> None:
        self._context = context
        self._attributes: list[Any] = [Parser(context, text).parse_attribute() for text in texts]
        self._values: list[Any] = []

    def operation(self, content: Packed) -> Operation:
        name, operands, regions, results, properties, attributes, location = content
        inner = [Region([self._block(block) for block in blocks]) for blocks in regions]
        op = self._context.get_op(name).create(
            operands=[self._values[operand] for operand in operands],
            result_types=[self._attributes[kind] for kind, _ in results],
            properties=self._dictionary(properties),
            attributes=self._dictionary(attributes),
            regions=inner,
            location=self._attributes[location],
        )
        self._define(op.results, results)
        return op

    def _block(self, content: Packed) -> Block:
        arguments, ops = content
        block = Block(arg_types=[self._attributes[kind] for kind, _ in arguments])
        self._define(block.args, arguments)
        block.add_ops([self.operation(op) for op in ops])
        return block

    def _define(self, values: Sequence[SSAValue], content: Sequence[Packed]) -> None:
        for value, (_, hint) in zip(values, content, strict=True):
            value.name_hint = hint
            self._values.append(value)

    def _dictionary(self, numbers: Mapping[str, int]) -> dict[str, Attribute]:
        return {name: self._attributes[number] for name, number in numbers.items()}
