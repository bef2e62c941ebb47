"""Assignments of a script: to names, elements of tensors, and attributes of the kernel."""

import ast
from collections.abc import Sequence

from hidet.dialects.cuda.names import hint_of
from hidet.errors import ScriptError
from hidet.frontends.script.attributes import Attributes, set_attribute
from hidet.frontends.script.calls import unpack
from hidet.frontends.script.evaluation import Expressions
from hidet.frontends.script.memory import TensorPointer
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, convert
from hidet.frontends.script.syntax_analysis import are_assigned, are_changed
from hidet.frontends.script.tensor_slices import lane_at
from hidet.frontends.script.tensors import LANES, Lanes, Pointer, Tensor, load_at, store_at
from hidet.frontends.script.types import I32, INDEX, ScalarType, TensorType, scalar_type
from hidet.frontends.script.variables import Variable, adapt_type, make_variable
from hidet.frontends.script.vectors import Vector, VectorVariable


class Assignments(Expressions):
    """Executes the assignments of a function."""

    rest: tuple[Sequence[ast.stmt], ...] = ()
    """The statements that follow the current one, in all enclosing blocks."""

    def visit_NamedExpr(self, node: ast.NamedExpr) -> object:
        """Assign a value to a name, `(n := x)`, and return it."""
        value = self.evaluate(node.value)
        self.assign_name(node.target.id, value)
        return value

    def visit_Assign(self, node: ast.Assign) -> None:
        """Assign a value to one or more targets."""
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign_to(target, value)

    def assign_to(self, target: ast.expr, value: object) -> None:
        """Assign a value to a target."""
        match target:
            case ast.Name():
                self.assign_name(target.id, value)
            case ast.Tuple() | ast.List():
                with self.source.at(target):
                    parts = unpack(value, target.elts)
                for element, each in parts:
                    self.assign_to(element, each)
            case ast.Subscript():
                self.store(target, value)
            case _:
                assert isinstance(target, ast.Attribute), "Python's grammar has no other target"
                self.assign_attribute(target, value)

    def assign_attribute(self, target: ast.Attribute, value: object) -> None:
        """Set an attribute of the kernel, or an element of a vector, `v.x = ...`."""
        owner = self.component(target)
        with self.source.at(target):
            if isinstance(owner, Lanes) and target.attr in LANES:
                store_at(value, lane_at(owner, target.attr))
            elif isinstance(owner, VectorVariable) and target.attr in LANES:
                owner.write_lane(LANES.index(target.attr), value)
            elif isinstance(owner, Attributes):
                set_attribute(owner, target.attr, value)
            else:
                raise ScriptError(f"{describe(owner)} takes no attributes")

    def store(self, target: ast.Subscript, value: object) -> None:
        """Store an element."""
        base = self.component(target)
        with self.source.at(target):
            if isinstance(base, VectorVariable):
                base.write_lane(self.evaluate(target.slice), value)
                return
            if not isinstance(base, Tensor | Pointer):
                raise ScriptError(
                    f"{describe(base)} cannot be changed by a kernel",
                    hint="make a tensor: register_tensor('float32', [n])",
                )
            pointer = self.address(base, target)
        store_at(value, pointer)

    def assign_name(self, name: str, value: object, kind: ScalarType | None = None) -> None:
        """Assign a value to a name.

        A name that is assigned again later is a local variable; another one is bound to the value.
        """
        if isinstance(value, VectorVariable):
            value = value.read()
        scope = self.scopes.find(name)
        if scope is not None:
            bound = scope.names[name]
            if isinstance(bound, Variable | VectorVariable):
                bound.write(value)
                return
            if isinstance(bound, TensorPointer):
                value = bound.at(value)
            if self.scopes.crosses_runtime(scope):
                raise ScriptError(
                    f"'{name}' is {describe(bound)}, and cannot become {describe(value)} "
                    "under run-time control flow",
                    hint="take another name",
                )
            scope.names[name] = self.named(name, value)
            return
        if isinstance(value, Vector) and any(are_changed(name, each) for each in self.rest):
            value = VectorVariable(name, value)
        if isinstance(value, Scalar | int | float):
            if any(are_assigned(name, statements) for statements in self.rest):
                self.scopes.define(name, make_variable(name, value, kind))
                return
            if kind is not None:
                value = convert(value, kind)
        self.scopes.define(name, self.named(name, value))

    @staticmethod
    def named(name: str, value: object) -> object:
        """Give an unnamed value the user's name as its name hint."""
        if name == "_":
            return value
        if isinstance(value, Scalar) and value.ssa.name_hint is None:
            value.ssa.name_hint = hint_of(name)
        elif isinstance(value, Tensor | Pointer) and value.memory.name_hint is None:
            value.memory.name_hint = hint_of(name)
        return value

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Declare a variable, `x: f32 = 0.0`, which may be uninitialized."""
        kind = self.evaluate(node.annotation)
        if isinstance(kind, TensorType) or not isinstance(node.target, ast.Name):
            raise ScriptError(
                "only scalars are declared by an annotation",
                hint="make tensors by register_tensor('float32', [n]) or shared_tensor",
            )
        kind = scalar_type(kind)
        name = node.target.id
        if node.value is None:
            self.scopes.define(name, make_variable(name, None, kind))
            return
        self.assign_name(name, self.evaluate(node.value), kind)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Update a variable or an element."""
        target = node.target
        is_lane = isinstance(target, ast.Attribute) and target.attr in LANES
        if isinstance(target, ast.Subscript):
            base = self.component(target)
            is_lane = isinstance(base, VectorVariable)
            if isinstance(base, Tensor | Pointer):
                with self.source.at(target):
                    pointer = self.address(base, target)
                old = load_at(pointer)
                changed = self._changed(node, old, self.evaluate(node.value))
                store_at(changed, pointer)
                return
        if not is_lane and not isinstance(target, ast.Name):
            raise self.source.error(target, "this cannot be changed")
        value = self.evaluate(node.value)
        if isinstance(target, ast.Name) and (scope := self.scopes.find(target.id)):
            bound = scope.names[target.id]
            if isinstance(bound, Variable):
                adapt_type(bound, value)
        self.assign_to(target, self._changed(node, self.evaluate(target), value))

    def _changed(self, node: ast.AugAssign, old: object, value: object) -> object:
        """Compute the operator of an augmented assignment."""
        types = [each.type for each in (old, value) if isinstance(each, Scalar)]
        if types == [I32, INDEX] and isinstance(node.op, ast.Add | ast.Sub | ast.Mult):
            # The result is truncated to 32 bits, so these operators may truncate first.
            value = convert(value, I32)
        return self.operate(node.op, old, value)
