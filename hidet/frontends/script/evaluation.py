"""Evaluates the expressions of a script: at compile time where possible, else by emitting IR."""

import ast
import difflib
import inspect
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import NoReturn, cast

from xdsl.ir import Block

from hidet.errors import ScriptError
from hidet.frontends.script import calls
from hidet.frontends.script.functional import BINARY, COMPARE, UNARY, address
from hidet.frontends.script.iterables import WORKER_METHODS, Range, tasks_of
from hidet.frontends.script.messages import Source, describe
from hidet.frontends.script.operators import is_cheap
from hidet.frontends.script.scalars import (
    Scalar,
    binary,
    branch_of,
    common_kind,
    constant,
    convert,
    is_integer,
    is_number,
    select,
)
from hidet.frontends.script.syntax_analysis import assigned_names, refusal
from hidet.frontends.script.tensor_slices import attribute_of, offset_by, part_of
from hidet.frontends.script.tensors import LANES, Lanes, Pointer, Tensor, address_of, load_at
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import BOOL, as_tuple, plain_number
from hidet.frontends.script.variables import Scopes, Variable
from hidet.frontends.script.vectors import Vector
from hidet.mapping import TaskMap


class Expressions(ast.NodeVisitor):
    """Evaluates the expressions of a function."""

    def __init__(self, source: Source, outside: Mapping[str, object], scopes: Scopes) -> None:
        self.source = source
        self.scopes = scopes
        self.outside = outside

    def evaluate(self, node: ast.expr) -> object:
        """Return the value of an expression."""
        with self.source.at(node):
            return plain_number(self.visit(node))

    def generic_visit(self, node: ast.AST) -> NoReturn:
        """Reject an unsupported node."""
        raise self.source.error(node, *refusal(node))

    # Names and literals.

    def visit_Name(self, node: ast.Name) -> object:
        """Look up a name in the script, then in Python."""
        scope = self.scopes.find(node.id)
        if scope is not None:
            value = scope.names[node.id]
            return value.read() if isinstance(value, Variable) else value
        self.scopes.check_lost(node.id)
        if node.id in self.outside:
            return self.outside[node.id]
        known = [*self.scopes.flat(), *self.outside]
        near = difflib.get_close_matches(node.id, known, 1)
        raise ScriptError(
            f"unknown name '{node.id}'",
            hint=f"did you mean '{near[0]}'?" if near else "assign or import it before",
        )

    def visit_Constant(self, node: ast.Constant) -> object:
        """Return a literal."""
        return node.value

    def visit_List(self, node: ast.List | ast.Tuple | ast.Set) -> object:
        """Return a list, a tuple or a set."""
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        return kind(self._elements(node.elts))

    visit_Tuple = visit_Set = visit_List

    def _elements(self, nodes: Sequence[ast.expr]) -> list[object]:
        """Return the values of expressions; starred ones are unpacked."""
        values: list[object] = []
        for element in nodes:
            if isinstance(element, ast.Starred):
                values.extend(self.python_values(element.value))
            else:
                values.append(self.evaluate(element))
        return values

    def visit_Dict(self, node: ast.Dict) -> object:
        """Return a dictionary."""
        made: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                made.update(cast("dict[object, object]", self.evaluate(value)))
            else:
                made[self.evaluate(key)] = self.evaluate(value)
        return made

    def visit_JoinedStr(self, node: ast.JoinedStr) -> object:
        """Return an f-string of compile-time values."""
        return "".join(str(self.evaluate(part)) for part in node.values)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> object:
        """Return a replacement field of an f-string as text."""
        value = self.evaluate(node.value)
        if isinstance(value, Scalar | Tensor | Pointer):
            raise ScriptError(
                f"{describe(value)} cannot be formatted at compile time",
                hint='print it by printf("%f", x)',
            )
        convert = {ord("r"): repr, ord("s"): str, ord("a"): ascii}.get(node.conversion)
        style = "" if node.format_spec is None else str(self.evaluate(node.format_spec))
        return format(value if convert is None else convert(value), style)

    # Operators.

    def visit_BinOp(self, node: ast.BinOp) -> object:
        """Compute a binary operator."""
        lhs, rhs = self.evaluate(node.left), self.evaluate(node.right)
        return self.operate(node.op, lhs, rhs)

    def operate(self, kind: ast.operator, lhs: object, rhs: object) -> object:
        """Compute a binary operator of two values."""
        function = BINARY.get(type(kind))
        if function is None:
            raise ScriptError(
                "a script has no operator '@'",
                hint="multiply matrices in loops over their elements",
            )
        if isinstance(lhs, Tensor) and isinstance(kind, ast.Add) and is_integer(rhs):
            lhs = lhs.pointer or lhs
        for one, other in ((lhs, rhs), (rhs, lhs)):
            if isinstance(one, Tensor) and (isinstance(other, Scalar | Tensor) or is_number(other)):
                raise ScriptError(
                    f"{describe(one)} cannot be an operand",
                    hint="operators work on elements: x[i]",
                )
        return function(lhs, rhs)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> object:
        """Compute a unary operator; `~x[i]` is the address of an element."""
        if isinstance(node.op, ast.Invert) and isinstance(node.operand, ast.Subscript):
            base = self.evaluate(node.operand.value)
            if isinstance(base, Tensor | Pointer):
                return self.address(base, node.operand)
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Invert) and isinstance(value, Tensor):
            return address(value)
        if isinstance(node.op, ast.Not) and isinstance(value, Tensor):
            raise ScriptError(f"{describe(value)} is no condition", hint="compare elements")
        return UNARY[type(node.op)](value)

    def visit_Compare(self, node: ast.Compare) -> object:
        """Compare; `a < b < c` is `a < b and b < c`."""
        values = [self.evaluate(each) for each in (node.left, *node.comparators)]
        results = [
            COMPARE[type(kind)](lhs, rhs)
            for kind, lhs, rhs in zip(node.ops, values, values[1:], strict=False)
        ]
        scalars = [result for result in results if isinstance(result, Scalar)]
        if not all(result for result in results if not isinstance(result, Scalar)):
            return False
        return reduce(Scalar.__and__, scalars) if scalars else True

    def visit_BoolOp(self, node: ast.BoolOp) -> object:
        """Compute `and` or `or`; the right operand is evaluated conditionally unless cheap."""
        return self._logic(isinstance(node.op, ast.And), node.values)

    def _logic(self, is_and: bool, nodes: list[ast.expr]) -> object:
        first, *rest = nodes
        value = self.evaluate(first)
        if not rest:
            return value
        if not isinstance(value, Scalar):
            return self._logic(is_and, rest) if bool(value) == is_and else value
        condition = convert(value, BOOL)
        with self.part() as block:
            other = convert(self._logic(is_and, rest), BOOL)
        if is_cheap(block):
            current().adopt(block)
            return binary("&" if is_and else "|", condition, other)
        with current().arm() as constant_arm:
            fixed = constant_arm, constant(not is_and, BOOL)
        then, otherwise = ((block, other), fixed) if is_and else (fixed, (block, other))
        return branch_of(condition, then, otherwise)

    def visit_IfExp(self, node: ast.IfExp) -> object:
        """Compute `a if c else b`; only the chosen side is evaluated unless both are cheap."""
        condition = self.condition(node.test)
        if not isinstance(condition, Scalar):
            return self.evaluate(node.body if condition else node.orelse)
        with self.part() as then:
            one = self.evaluate(node.body)
        with self.part() as otherwise:
            two = self.evaluate(node.orelse)
        kind = common_kind(one, two)
        with current().inside(then):
            left = convert(one, kind)
        with current().inside(otherwise):
            right = convert(two, kind)
        if is_cheap(then) and is_cheap(otherwise):
            current().adopt(then)
            current().adopt(otherwise)
            return select(condition, left, right)
        return branch_of(condition, (then, left), (otherwise, right))

    @contextmanager
    def part(self, what: str = "a part of an expression that may be left out") -> Generator[Block]:
        """Build a conditionally evaluated block; names that it binds are undefined after it."""
        lost = f"only {what} assigns it"
        with current().arm() as block, self.scopes.open(runtime=True, lost=lost):
            yield block

    def condition(self, node: ast.expr) -> object:
        """Return a condition: a scalar of type bool, or a compile-time value."""
        value = self.evaluate(node)
        if isinstance(value, Tensor | Pointer):
            raise self.source.error(node, f"{describe(value)} is no condition", "compare elements")
        return convert(value, BOOL) if isinstance(value, Scalar) else value

    # Subscripts and attributes.

    def visit_Subscript(self, node: ast.Subscript) -> object:
        """Load an element, or subscript a Python value."""
        return self.subscript_of(self.component(node), node)

    def component(self, node: ast.Attribute | ast.Subscript) -> object:
        """Return the object of `v.x` or `v[i]`; of a vector in memory, its elements there."""
        whole = node.value
        is_part = isinstance(node, ast.Subscript) or node.attr in LANES
        if not isinstance(whole, ast.Subscript) or not is_part:
            return self.evaluate(whole)
        base = self.component(whole)
        if isinstance(base, Tensor | Pointer) and base.lanes > 1:
            found = self.location(base, whole)
            if isinstance(found, Tensor):
                return found
            return Lanes(found.memory, found.element, (found.lanes,), base=found.indices)
        return self.subscript_of(base, whole)

    def subscript_of(self, base: object, node: ast.Subscript) -> object:
        """Load an element of a tensor, or subscript a Python value."""
        if isinstance(base, Tensor | Pointer):
            found = self.location(base, node)
            return found if isinstance(found, Tensor) else load_at(found)
        key = self.evaluate(node.slice)
        if isinstance(key, Scalar):
            what = "has numbered elements" if isinstance(base, Vector) else "exists"
            raise ScriptError(
                f"{describe(base)} {what} at compile time, but the index only at run time",
                hint="loops over it, and over meta.range(n), are unrolled; or put it into a tensor",
            )
        return base[key]  # pyright: ignore[reportIndexIssue, reportUnknownVariableType]

    def address(self, base: Tensor | Pointer, node: ast.Subscript) -> Pointer:
        """Return the address of an element."""
        found = self.location(base, node)
        if isinstance(found, Tensor):
            raise ScriptError(
                f"the subscript selects a slice of {describe(base)}, not an element",
                hint="give one index for each dimension",
            )
        return found

    def location(self, base: Tensor | Pointer, node: ast.Subscript) -> Pointer | Tensor:
        """Return the address of an element, or a slice of a tensor."""
        key = self.evaluate(node.slice)
        indices = as_tuple(key)
        if isinstance(base, Tensor):
            is_short = 0 < len(indices) < len(base.shape)
            is_part = is_short or any(isinstance(index, slice) for index in indices)
            return (part_of if is_part else address_of)(base, indices)
        return offset_by(base, indices)

    def visit_Slice(self, node: ast.Slice) -> object:
        """Return a slice."""
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else self.evaluate(part) for part in parts))

    def visit_Attribute(self, node: ast.Attribute) -> object:
        """Return an attribute of a Python value, a tensor or a vector."""
        return attribute_of(self.component(node), node.attr)

    # Functions.

    def visit_Call(self, node: ast.Call) -> object:
        """Call a Python function; scripts and plain functions are inlined."""
        function = self.evaluate(node.func)
        if function is address and node.args and isinstance(node.args[0], ast.Subscript):
            return self.visit_UnaryOp(ast.UnaryOp(ast.Invert(), node.args[0]))
        arguments = self._elements(node.args)
        keywords: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value)
            if keyword.arg is None:
                keywords.update(cast("dict[str, object]", value))
            else:
                keywords[keyword.arg] = value
        owner = getattr(function, "__self__", function)
        name = getattr(function, "__name__", "tasks_of" if len(arguments) == 1 else "place")
        if isinstance(owner, TaskMap) and name in WORKER_METHODS:
            return tasks_of(owner, name, *arguments, **keywords)
        if not callable(function):
            raise ScriptError(f"{describe(function)} is no function")
        return calls.call(calls.substitute_for(function, arguments), arguments, keywords)

    def visit_Lambda(self, node: ast.Lambda) -> object:
        """Return a lambda as a Python function, which is inlined at each call."""
        signature = self.signature(node.args)
        captured = self.captured(node)

        def function(*values: object, **keywords: object) -> object:
            scopes = Scopes(captured)
            for name, value in calls.bind("a lambda", signature, values, keywords).items():
                scopes.define(name, value)
            inner = type(self)(self.source, self.outside, scopes)
            return inner.evaluate(node.body)

        return function

    def signature(self, node: ast.arguments) -> inspect.Signature:
        """Return the signature of a nested function, with evaluated defaults."""
        return calls.signature_of(self.source, node, calls.evaluated_defaults(node, self.evaluate))

    def captured(self, node: ast.Lambda | ast.FunctionDef) -> dict[str, object]:
        """Return the bindings that a nested function captures."""
        parameters = (each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg))
        own = {*assigned_names(node), *parameters}
        return {name: value for name, value in self.scopes.flat().items() if name not in own}

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> object:
        """Evaluate a comprehension at compile time."""
        values = [value for (value,) in self._comprehend([node.elt], node.generators)]
        return set(values) if isinstance(node, ast.SetComp) else values

    visit_GeneratorExp = visit_SetComp = visit_ListComp

    def visit_DictComp(self, node: ast.DictComp) -> object:
        """Evaluate a dict comprehension at compile time."""
        return {
            key: value for key, value in self._comprehend([node.key, node.value], node.generators)
        }

    def _comprehend(
        self, elements: list[ast.expr], generators: list[ast.comprehension]
    ) -> Iterator[list[object]]:
        if not generators:
            yield [self.evaluate(element) for element in elements]
            return
        first, *rest = generators
        for value in self.python_values(first.iter):
            with self.scopes.open(runtime=False):
                self.bind(first.target, value)
                if all(self.condition(test) for test in first.ifs):
                    yield from self._comprehend(elements, rest)

    def python_values(self, node: ast.expr) -> list[object]:
        """Return the values of a compile-time iterable."""
        value = self.evaluate(node)
        if isinstance(value, Range) and value.is_known:
            return list(value)
        if isinstance(value, Range | Scalar | Tensor) or not hasattr(value, "__iter__"):
            raise self.source.error(
                node,
                f"{describe(value)} is not iterable at compile time",
                "lists, tuples and compile-time ranges are",
            )
        return list(value)  # pyright: ignore[reportArgumentType, reportUnknownVariableType]

    def bind(self, target: ast.expr, value: object) -> None:
        """Bind a name, or a tuple of names, in the innermost scope."""
        if isinstance(target, ast.Name):
            self.scopes.define(target.id, value)
            return
        if not isinstance(target, ast.Tuple | ast.List):
            raise self.source.error(target, "only names can be bound here")
        for element, each in calls.unpack(value, target.elts):
            self.bind(element, each)
