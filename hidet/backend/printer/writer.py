"""The writer of a kernel's text: dispatches on operations, and manages names."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.dialects.scf import YieldOp
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.traits import is_side_effect_free

from hidet.backend.printer.operators import ExpressionPrinter
from hidet.backend.printer.signs import with_type
from hidet.backend.printer.text import Text, call, cast
from hidet.backend.printer.types import UNSIGNED, value_type
from hidet.dialects.cuda.kernel import is_unsigned
from hidet.dialects.cuda.names import NameScopes, is_identifier
from hidet.dialects.locations import source_lines
from hidet.dialects.walking import ops_of_block
from hidet.errors import HidetError, LegalityError, UnsupportedOperatorError

StatementPrinter: TypeAlias = "Callable[[Any, Writer], None]"
"""Prints an operation without a result as statements."""


class Writer:
    """Writes the statements of one kernel. The IR determines what is declared and what is folded.

    It takes the printers of operations with a result, and of those without one and of allocations,
    by name. `origins` has the statement of each of the `lines`.
    """

    def __init__(
        self,
        expressions: Mapping[str, ExpressionPrinter],
        statements: Mapping[str, StatementPrinter],
    ) -> None:
        self._expressions = expressions
        self._statements = statements
        self.lines: list[str] = []
        self.origins: list[Operation | None] = []
        self._statement: Operation | None = None
        self._depth = 0
        self.scopes = NameScopes()
        self._declared: dict[SSAValue, str] = {}
        self._unsigned: set[SSAValue] = set()
        self._folded: set[Operation] = set()

    def line(self, text: str) -> None:
        """Add a line at the current indentation."""
        self.lines.append("  " * self._depth + text)
        self.origins.append(self._statement)

    def call(self, function: str, *arguments: Text) -> None:
        """Add a line that calls a function."""
        self.line(f"{call(function, list(arguments), 'void').text};")

    def declare(self, value: SSAValue) -> str:
        """Declare a value, and return its name.

        Raises:
            LegalityError: the value has no name, or one that is invalid in C++ or already declared.
        """
        name = value.name_hint
        if name is None or not is_identifier(name) or not self.scopes.claim(name):
            problem = (
                "no name" if name is None else f"the name '{name}', which is taken or reserved"
            )
            raise LegalityError(f"a value that is declared has {problem}", hint=_FORM)
        self._declared[value] = name
        return name

    def text_of(self, value: SSAValue) -> Text:
        """Return an expression of a value in its own type: its name, or its computation.

        Raises:
            LegalityError: the value is neither declared nor an expression, or is used twice.
        """
        if value in self._declared:
            kind = "" if isinstance(value.type, MemRefType) else value_type(value)
            declared = UNSIGNED[kind] if value in self._unsigned else kind
            return with_type(Text(self._declared[value], declared), kind)
        op = value.owner
        if not isinstance(value, OpResult) or not isinstance(op, Operation):
            raise LegalityError("an argument of a block is not declared", hint=_FORM)
        if value.name_hint is not None and not isinstance(op, ConstantOp):
            raise LegalityError(f"'{value.name_hint}' is used before its declaration", hint=_FORM)
        if op in self._folded and not isinstance(op, ConstantOp):
            raise LegalityError(f"a value of {op.name} has no name and two uses", hint=_FORM)
        self._folded.add(op)
        return with_type(self._computed(op), value_type(value))

    def _computed(self, op: Operation) -> Text:
        """Return the expression of an operation, with its C++ type."""
        entry = self._expressions.get(op.name)
        if entry is None or len(op.results) != 1:
            raise _unknown(op)
        try:
            return entry(op, self.text_of)
        except HidetError as error:
            _locate(error, op)
            raise

    def block(self, block: Block) -> None:
        """Write the statements of a block between braces, indented."""
        self._depth += 1
        with self.scopes.scope():
            for op in ops_of_block(block):
                self.statement(op)
        self._depth -= 1

    def statements_of(self, block: Block) -> list[Operation]:
        """Yield the operations of a block that print as statements."""
        return [op for op in block.ops if not isinstance(op, YieldOp) and not self._is_folded(op)]

    def statement(self, op: Operation) -> None:
        """Write an operation that is not folded into its user."""
        self._statement = op
        entry = self._statements.get(op.name)
        if entry is not None and (not op.results or op.name not in self._expressions):
            try:
                entry(op, self)
            except HidetError as error:
                _locate(error, op)
                raise
        elif op.name not in self._expressions:
            raise _unknown(op)
        elif not self._is_folded(op):
            self._declaration(op)

    def _declaration(self, op: Operation) -> None:
        """Write `const float v = x;`, or `x;` if the result is unused."""
        (result,) = op.results
        kind = value_type(result)
        computed = self._computed(op)
        # A declaration converts unsigned expressions implicitly.
        same = computed.type == UNSIGNED.get(kind)
        text = computed.text if same or computed.type == "unsigned" else cast(computed, kind).text
        if result.name_hint is None:
            self.line(f"{text};")
            return
        if same and not computed.wraps and not isinstance(result.type, IndexType):
            self._unsigned.add(result)
            kind = computed.type
        self.line(f"const {kind} {self.declare(result)} = {text};")

    def parameter(self, value: SSAValue) -> str:
        """Return the declaration of a scalar parameter."""
        kind = value_type(value)
        if is_unsigned(value):
            self._unsigned.add(value)
            kind = UNSIGNED[kind]
        return f"{kind} {self.declare(value)}"

    def _is_folded(self, op: Operation) -> bool:
        """Return whether an operation is printed in its user, or not at all."""
        if not op.results or op.name not in self._expressions:
            return False
        if isinstance(op, ConstantOp):
            return True
        (result,) = op.results
        if result.name_hint is not None:
            return False
        return result.first_use is not None or is_side_effect_free(op)


_FORM = "run form-expressions, and no pass after it"


def _unknown(op: Operation) -> HidetError:
    return UnsupportedOperatorError(
        f"the CUDA printer does not know {op.name} with {len(op.results)} results",
        where=_where(op),
        hint="it prints scalar operations of arith, math, scf, memref and cuda",
    )


def _where(op: Operation) -> str | None:
    return next(iter(source_lines(op, 1)), None)


def _locate(error: HidetError, op: Operation) -> None:
    """Add the source line of an operation to an error that does not name one."""
    error.where = error.where or _where(op)
