"""Calls of operators, which run eagerly or are recorded.

`operator` makes an operator of a function of torch tensors. Called with concrete tensors, it
compiles the function once per shapes and types, and runs it. Called with a symbol, it records the
call in the symbols that it returns.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten

import hidet
from hidet.absent import explains_members
from hidet.errors import HidetError
from hidet.foreign import HoldsTensor
from hidet.frontends.torch.spec import Spec
from hidet.frontends.trace.sizes import Sizes, has_names, recording_mode
from hidet.frontends.trace.tracing import (
    compile_imported,
    example_of,
    has_elements,
    import_function,
    precisions,
)

_OWN_FILES = str(Path(hidet.__file__).parent)
_KEPT_PROGRAMS = 4096
"""The number of programs of single operators to keep in memory; others are in the cache."""


class Traced(HoldsTensor):
    """A tensor with its producer.

    Args:
        data: the torch tensor; a fake one makes a symbol.
        trace: the producer of a symbol, and the number of its result.
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
                hint="hidet.trace_from(y) makes a graph of what it is computed by, to call",
            )
        return self._data

    def is_symbolic(self) -> bool:
        """Return whether the tensor is a symbol, without data."""
        return not has_elements(self._data)

    @property
    def example(self) -> torch.Tensor:
        """The torch tensor, which is fake for symbols."""
        return self._data


@explains_members
class Operator:
    """A call of an operator.

    Args:
        name: the name of the operator, as graphs print it.
        function: the function of torch tensors.
        arguments: the arguments, by the names of the operator's parameters.
        positional: the positional arguments of the function.
        keywords: its keyword arguments.

    Attributes:
        inputs: the tensors among the arguments.
        attributes: the arguments without tensors.
        outputs: the result symbols; none if it has run eagerly.
        where: the file and the line of the call.
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
        self.outputs: list[Traced] = []
        self.where: tuple[str, int] | None = None

    def __repr__(self) -> str:
        return f"<hidet.graph.Operator {self.name} at {id(self):#x}>"

    def run(self) -> Any:
        """Return the results: tensors, or symbols where an input is one.

        Raises:
            HidetError: the arguments are invalid.
        """
        if not self.inputs:
            raise HidetError(f"{self.name} needs a tensor, got {self.leaves}")
        if any(tensor.is_symbolic() for tensor in self.inputs) or any(map(has_names, self.leaves)):
            return self.symbolic_run()
        leaves = [_key(leaf) for leaf in self.leaves]
        call = (self.name, self.function, self._tree, tuple(leaves))
        program, tree = _program(*call, precisions())
        results = program([tensor.torch() for tensor in self.inputs])
        return tree_unflatten(map(self._tensor_class, results), tree)

    def symbolic_run(self) -> Any:
        """Return symbols for the results, whose producer is this call."""
        self.where = _caller()
        specs = [Spec.of(tensor.example) for tensor in self.inputs]
        sizes = [size for spec in specs for size in (*spec.shape, *spec.strides)]
        with recording_mode([*sizes, *self.leaves]):
            results = explained(self.name, self.apply, [spec.empty() for spec in specs])
        flat, tree = tree_flatten(results)
        symbol = self._tensor_class
        self.outputs = [symbol(result, (self, number)) for number, result in enumerate(flat)]
        return tree_unflatten(self.outputs, tree)

    def reforward(self, inputs: Sequence[Traced], sizes: Sizes | None = None) -> Any:
        """Return the results for other inputs, with numbers for its named sizes."""
        again = iter(inputs)
        leaves = [next(again) if isinstance(leaf, Traced) else leaf for leaf in self.leaves]
        attributes = self.attributes
        if sizes is not None:
            leaves = [sizes.of(leaf) for leaf in leaves]
            attributes = tree_map(sizes.of, dict(attributes))
        positional, keywords = tree_unflatten(leaves, self._tree)
        return Operator(self.name, self.function, attributes, positional, keywords).run()

    def apply(self, tensors: Sequence[torch.Tensor]) -> Any:
        """Return the results of the function for torch tensors in place of the inputs."""
        return _apply(self.function, self._tree, self.leaves, tensors)

    @property
    def _tensor_class(self) -> type[Traced]:
        return type(self.inputs[0])


def _key(leaf: object) -> Any:
    """Return what a program depends on in an argument."""
    return Spec.of(leaf.example) if isinstance(leaf, Traced) else (type(leaf), leaf)


def _apply(
    function: Callable[..., Any],
    tree: TreeSpec,
    leaves: Sequence[object],
    tensors: Sequence[torch.Tensor],
) -> Any:
    """Return what a function gives for tensors in the place of those among the leaves."""
    given = iter(tensors)
    filled = [next(given) if isinstance(leaf, Traced | Spec) else leaf for leaf in leaves]
    positional, keywords = tree_unflatten(filled, tree)
    return function(*positional, **keywords)


@lru_cache(_KEPT_PROGRAMS)
def _program(
    name: str, function: Callable[..., Any], tree: TreeSpec, keys: tuple[Any, ...], flags: object
) -> tuple[Callable[[list[Any]], Sequence[torch.Tensor]], TreeSpec]:
    """Return the program of one call, of the list of its tensors, and the tree of its results.

    `flags` are those of torch's that it depends on.
    """
    leaves: list[object] = [key if isinstance(key, Spec) else key[1] for key in keys]
    trees: list[TreeSpec] = []

    def flat(*tensors: torch.Tensor) -> list[torch.Tensor]:
        results, found = tree_flatten(_apply(function, tree, leaves, tensors))
        trees.append(found)
        return results

    examples = [example_of(key) for key in keys if isinstance(key, Spec)]
    return compile_imported(explained(name, import_function, flat, examples)), trees[0]


def explained(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function gives, whose errors are said to be those of an operator."""
    try:
        return function(*arguments)
    except HidetError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError) as error:
        what = str(error).partition("\n")[0]
        raise HidetError(f"{name} does not take such arguments: {what}") from error


def _caller() -> tuple[str, int] | None:
    """Return file and line of the innermost call that is not in this package."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FILES):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


P = ParamSpec("P")
T: TypeAlias = torch.Tensor
"""What functions that are made operators take and return."""


def operator(function: Callable[P, Any]) -> Callable[..., Any]:
    """Make an operator of a function of torch tensors, with the same signature."""
    signature = inspect.signature(function)
    name = "".join(part.capitalize() for part in function.__name__.split("_"))

    @wraps(function)
    def call(*arguments: object, **keywords: object) -> Any:
        bound = signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        return Operator(name, function, bound.arguments, bound.args, bound.kwargs).run()

    return call


def unary(
    function: Callable[[torch.Tensor], torch.Tensor], what: str, name: str | None = None
) -> Callable[..., Any]:
    """Make an operator of an elementwise torch function of one tensor.

    Args:
        function: torch's function.
        what: its result, for the docstring.
        name: the name of the operator; torch's by default.
    """

    def call(x: torch.Tensor) -> torch.Tensor:
        return function(x)

    return operator(_named(call, function, f"Return {what} of each element.", name))


def binary(
    function: Callable[..., torch.Tensor], what: str, name: str | None = None
) -> Callable[..., Any]:
    """Make an operator of an elementwise torch function of two tensors; see `unary`."""

    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return function(x, y)

    document = f"Return {what} element by element; shapes broadcast."
    return operator(_named(call, function, document, name))


def _named(
    call: Callable[P, Any], function: Any, document: str, name: str | None
) -> Callable[P, Any]:
    """Return a function under the name of torch's, or another one, with a docstring."""
    own = function.__name__
    call.__name__ = call.__qualname__ = own if name is None else name
    call.__doc__ = f"{document}\n\n    Shapes and data types are those of torch's `{own}`."
    return call
