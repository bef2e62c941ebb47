"""Operator calls, which run eagerly or are recorded.

`operator` wraps a function of torch tensors. Called with concrete tensors, the operator compiles
the function once per signature, and runs it. Called with a symbolic tensor, it returns symbolic
tensors that record the call.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten

import hidet
from hidet.absent import explains_members
from hidet.errors import HidetError
from hidet.foreign import HoldsTensor
from hidet.frontends.torch.storage import Spec
from hidet.frontends.trace.sizes import Sizes, has_names, recording_mode
from hidet.frontends.trace.tracing import compile_imported, example_of, import_function, precisions

_OWN_FILES = str(Path(hidet.__file__).parent)
_MAX_PROGRAMS = 4096
"""The number of eager programs to keep in memory; evicted ones remain in the disk cache."""


class Traced(HoldsTensor):
    """A concrete tensor, or a symbolic one, whose data are fake.

    `trace` is the producer of a symbolic tensor, and the result number.
    """

    __slots__ = ("trace",)

    def __init__(self, data: torch.Tensor, trace: tuple[Operator, int] | None = None) -> None:
        super().__init__(data)
        self.trace = trace

    def torch(self) -> torch.Tensor:
        """Return the torch tensor, which shares the memory.

        Raises:
            HidetError: it is a symbol.
        """
        if self.is_symbolic():
            raise HidetError(
                "a symbolic tensor has no elements",
                hint="hidet.trace_from(y) returns the graph that computes it, to call",
            )
        return self._data

    def is_symbolic(self) -> bool:
        """Return whether the tensor is symbolic, without data."""
        return isinstance(self._data, FakeTensor)

    @property
    def example(self) -> torch.Tensor:
        """The torch tensor, which is fake if symbolic."""
        return self._data


@explains_members
class Operator:
    """A call of an operator; `name` is the printed one, `function` that of torch tensors.

    Attributes:
        inputs: the tensors among the arguments.
        attributes: the arguments without tensors, by parameter name.
        outputs: the symbolic results; empty if run eagerly.
        where: the file and line of the call.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: Mapping[str, object],
        positional: Sequence[object],
        keywords: Mapping[str, object],
    ) -> None:
        self.name = name
        self.function = function
        self.leaves, self._tree = tree_flatten((tuple(positional), dict(keywords)))
        self.inputs = [leaf for leaf in self.leaves if isinstance(leaf, Traced)]
        self.attributes = {
            key: value
            for key, value in arguments.items()
            if not any(isinstance(leaf, Traced) for leaf in tree_flatten(value)[0])
        }
        self.apply = partial(_apply, function, self._tree, self.leaves)
        """Calls the function with torch tensors in place of the inputs."""
        self.outputs: list[Traced] = []
        self.where: tuple[str, int] | None = None

    def __repr__(self) -> str:
        return f"<hidet.graph.Operator {self.name} at {id(self):#x}>"

    def run(self) -> Any:
        """Return the results, which are symbolic if an input is.

        Raises:
            HidetError: the arguments are invalid.
        """
        if not self.inputs:
            raise HidetError(f"{self.name} needs a tensor, got {self.leaves}")
        if any(tensor.is_symbolic() for tensor in self.inputs) or any(map(has_names, self.leaves)):
            return self.symbolic_run()
        keys = tuple(map(_key, self.leaves))
        program, tree = _program(self.name, self.function, self._tree, keys, precisions())
        results = program([tensor.torch() for tensor in self.inputs])
        return tree_unflatten(map(self._tensor_class, results), tree)

    def symbolic_run(self) -> Any:
        """Record the call, and return its symbolic results."""
        self.where = _caller()
        specs = [Spec.of(tensor.example) for tensor in self.inputs]
        sizes = [size for spec in specs for size in (*spec.shape, *spec.strides)]
        with recording_mode([*sizes, *self.leaves]):
            results = with_operator_errors(self.name, self.apply, [spec.empty() for spec in specs])
        flat, tree = tree_flatten(results)
        symbol = self._tensor_class
        self.outputs = [symbol(result, (self, number)) for number, result in enumerate(flat)]
        return tree_unflatten(self.outputs, tree)

    def reforward(self, inputs: Sequence[Traced], sizes: Sizes | None = None) -> Any:
        """Return the results for other inputs, with named sizes replaced by their values."""
        again = iter(inputs)
        leaves = [next(again) if isinstance(leaf, Traced) else leaf for leaf in self.leaves]
        attributes = self.attributes
        if sizes is not None:
            leaves = [sizes.of(leaf) for leaf in leaves]
            attributes = tree_map(sizes.of, dict(attributes))
        positional, keywords = tree_unflatten(leaves, self._tree)
        return Operator(self.name, self.function, attributes, positional, keywords).run()

    @property
    def _tensor_class(self) -> type[Traced]:
        return type(self.inputs[0])


def _key(leaf: object) -> Any:
    """Return the cache key of an argument: its spec, or type and value."""
    return Spec.of(leaf.example) if isinstance(leaf, Traced) else (type(leaf), leaf)


def _apply(
    function: Callable[..., Any],
    tree: TreeSpec,
    leaves: Sequence[object],
    tensors: Sequence[torch.Tensor],
) -> Any:
    """Call a function with tensors in place of those among the leaves of its arguments."""
    given = iter(tensors)
    filled = [next(given) if isinstance(leaf, Traced | Spec) else leaf for leaf in leaves]
    positional, keywords = tree_unflatten(filled, tree)
    return function(*positional, **keywords)


@lru_cache(_MAX_PROGRAMS)
def _program(
    name: str, function: Callable[..., Any], tree: TreeSpec, keys: tuple[Any, ...], flags: object
) -> tuple[Callable[[list[Any]], Sequence[torch.Tensor]], TreeSpec]:
    """Return the compiled program of a call, and the tree structure of its results.

    `flags` are the torch flags that it depends on.
    """
    leaves: list[object] = [key if isinstance(key, Spec) else key[1] for key in keys]
    trees: list[TreeSpec] = []

    def flat(*tensors: torch.Tensor) -> list[torch.Tensor]:
        results, found = tree_flatten(_apply(function, tree, leaves, tensors))
        trees.append(found)
        return results

    examples = [example_of(key) for key in keys if isinstance(key, Spec)]
    return compile_imported(with_operator_errors(name, import_function, flat, examples)), trees[0]


def with_operator_errors(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, and convert its errors to a HidetError that names the operator."""
    try:
        return function(*arguments)
    except HidetError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:
        what = str(error).partition("\n")[0]
        raise HidetError(f"invalid arguments of {name}: {what}") from error


def _caller() -> tuple[str, int] | None:
    """Return the file and line of the innermost frame outside of this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


P = ParamSpec("P")
T: TypeAlias = torch.Tensor
"""The type of the arguments and results of functions that become operators."""

Ints: TypeAlias = int | tuple[int, ...]
"""A number for all dimensions or one for each; or one dimension or several."""


def operator(function: Callable[P, Any]) -> Callable[..., Any]:
    """Wrap a function of torch tensors as an operator with the same signature."""
    signature = inspect.signature(function)
    name = "".join(part.capitalize() for part in function.__name__.split("_"))

    @wraps(function)
    def call(*arguments: object, **keywords: object) -> Any:
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        return Operator(name, function, bound.arguments, bound.args, bound.kwargs).run()

    return call


def unary(function: Callable[[T], T], what: str, name: str | None = None) -> Callable[..., Any]:
    """Return the operator for an elementwise unary torch function.

    `what` it returns is for the docstring; its name is by default that of the torch function.
    """

    def call(x: T) -> T:
        return function(x)

    return _elementwise(call, function, f"Return {what} of each element.", name)


def binary(function: Callable[..., T], what: str, name: str | None = None) -> Callable[..., Any]:
    """Return the operator for an elementwise binary torch function; see `unary`."""

    def call(x: T, y: T) -> T:
        return function(x, y)

    document = f"Return {what} element by element; shapes broadcast."
    return _elementwise(call, function, document, name)


def _elementwise(
    call: Callable[..., Any], function: Any, document: str, name: str | None
) -> Callable[..., Any]:
    """Return the operator for a torch function, under its name or another one."""
    own = function.__name__
    document = f"{document}\n\n    Shapes and data types are those of torch's `{own}`."
    return named_operator(call, own if name is None else name, document)


def named_operator(call: Callable[..., Any], name: str, document: str) -> Callable[..., Any]:
    """Wrap a function as an operator with a name and a docstring; see `operator`."""
    call.__name__ = call.__qualname__ = name
    call.__doc__ = document
    return operator(call)
