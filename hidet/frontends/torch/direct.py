"""`hidet.compile`: a model traced once, and called without dynamo and its guards.

    fast = hidet.compile(model, x)
    fast(x)

What dynamo would guard, a call checks itself: the number of the arguments, and the type, shape and
device of each tensor. Weights are looked up in their modules in every call, so that training,
loading a state and putting in another parameter all show. What else a model depends on is fixed
when it is traced: `model.training`, numbers in its attributes, the flags of torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from hidet.errors import HidetError
from hidet.frontends.torch.decompositions import decompositions
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.seeds import Draws, drawn, lift_draws, merge_draws
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.spec import Spec
from hidet.frontends.torch.whole import import_whole
from hidet.runtime.snapshots import Snapshots

if TYPE_CHECKING:
    from hidet.runtime.profile import Profile


class _Function(torch.nn.Module):
    """A function as a module, which torch.export wants."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        """Call the function."""
        return self.function(*arguments)


class DirectCall:
    """A compiled model.

    Args:
        program: what runs it, on the list of weights and tensors.
        weights: for each weight the table of its module that holds it, and its name there.
        examples: the arguments that it has been traced with, flat.
        tree: how they are put together.
        results: how the outputs are put together.
        draws: the seeds that it takes behind all else.

    Attributes:
        program: see above.
        wanted: for each argument what its tensor must be like; None for other values.
    """

    def __init__(
        self,
        program: CompiledProgram,
        weights: Sequence[tuple[dict[str, Any], str]],
        examples: Sequence[Any],
        tree: TreeSpec,
        results: TreeSpec,
        draws: Draws,
    ) -> None:
        self.program = program
        snapshots = Snapshots() if program.runnable is None else program.runnable.snapshots
        self._weights = snapshots.look_up([table for table, _ in weights], [n for _, n in weights])
        self._tree = tree
        self._results = results
        self._draws = draws
        self._is_flat = tree == tree_flatten(tuple(examples))[1]
        self._gives_one = results == tree_flatten(torch.empty(0))[1]
        self.wanted = [Spec.of(e) if isinstance(e, torch.Tensor) else None for e in examples]
        self._fixed = [None if isinstance(e, torch.Tensor) else e for e in examples]

    @property
    def weights(self) -> list[Any]:
        """The weights as they are now, which the program takes ahead of the arguments."""
        return self._weights()

    def __call__(self, *arguments: Any) -> Any:
        """Return what the model gives.

        Raises:
            HidetError: an argument is not such as the example was.
        """
        outputs = self.program(self._tensors(arguments))
        return outputs[0] if self._gives_one else tree_unflatten(outputs, self._results)

    def profile(self, *arguments: Any, runs: int = 20) -> Profile:
        """Run the model some times, and return what each launch of it takes.

        Args:
            arguments: as those of a call.
            runs: times are medians over so many runs.

        Raises:
            HidetError: as a call; or the launches could not be measured.
        """
        return self.program.profile(self._tensors(arguments), runs)

    def _tensors(self, arguments: tuple[Any, ...]) -> list[Any]:
        """Return what the program takes, of checked arguments."""
        flat = arguments if self._is_flat else self._flattened(arguments)
        if len(flat) != len(self.wanted):
            raise HidetError(f"{len(flat)} arguments; the model takes {len(self.wanted)}")
        tensors = self._weights()
        for number, (value, wanted) in enumerate(zip(flat, self.wanted, strict=True)):
            tensors.append(value if wanted is None else wanted.checked(value, "argument", number))
            if wanted is None and not _same(value, self._fixed[number]):
                what = f"argument {number} is {value!r}; it was traced as {self._fixed[number]!r}"
                raise HidetError(what, hint="hidet.compile it once more for this value")
        return [*tensors, *drawn(self._draws)] if self._draws else tensors

    def _flattened(self, arguments: tuple[Any, ...]) -> Sequence[Any]:
        """Return the arguments without the containers around them."""
        flat, tree = tree_flatten(arguments)
        if tree != self._tree:
            raise HidetError(f"the arguments are put together as {tree}, not as {self._tree}")
        return flat


def _same(value: object, fixed: object) -> bool:
    """Return whether a value is the one that a model has been traced with."""
    return type(value) is type(fixed) and value == fixed


class ByArguments:
    """A model that is compiled for each kind of arguments that it is called with.

    Args:
        compile_for: compiles it for examples.
    """

    def __init__(self, compile_for: Callable[..., DirectCall]) -> None:
        self._compile_for = compile_for
        self._compiled: dict[tuple[object, ...], DirectCall] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Return what the model gives."""
        flat, tree = tree_flatten(arguments)
        key = (tree, *map(_kind, flat))
        if key not in self._compiled:
            self._compiled[key] = self._compile_for(*arguments)
        return self._compiled[key](*arguments)


def _kind(value: object) -> object:
    """Return what a program depends on in an argument."""
    if isinstance(value, torch.Tensor):
        return Spec.of(value)
    return type(value), value


def compile(
    model: Callable[..., Any],
    *example_inputs: Any,
    recompile: bool = False,
    mode: str | None = None,
    options: dict[str, object] | None = None,
) -> DirectCall | ByArguments:
    """Return a module, or a function of tensors, compiled for arguments like these.

    It is compiled for inference: it has no gradient, and does not change buffers.

    Args:
        model: the module or the function.
        example_inputs: its arguments: tensors, in tuples, lists and dicts too, and numbers.
        recompile: compile it once more for other arguments, instead of refusing them; there need
            be no examples then.
        mode: as that of `torch.compile(..., backend="hidet")`.
        options: likewise.

    Raises:
        HidetError: the model changes its arguments or buffers, or cannot be compiled as a whole.
    """
    settings = Settings.of(mode, options)
    if recompile:
        by_arguments = ByArguments(partial(_compile, model, settings))
        if example_inputs:
            by_arguments(*example_inputs)
        return by_arguments
    return _compile(model, settings, *example_inputs)


def _compile(model: Callable[..., Any], settings: Settings, *example_inputs: Any) -> DirectCall:
    """Return a model compiled for arguments like these; see `compile`."""
    module = model if isinstance(model, torch.nn.Module) else _Function(model)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)  # torch's own about itself
        exported = torch.export.export(module, example_inputs, strict=False)
        exported = exported.run_decompositions(cast("dict[Any, Any]", decompositions()))
    signature = exported.graph_signature
    changed = {**signature.buffers_to_mutate, **signature.user_inputs_to_mutate}
    if changed:
        raise HidetError(
            f"the model changes {', '.join(changed.values())}",
            hint="model.eval() has norms leave their statistics alone; write a function of values",
        )
    held = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    lifted = signature.inputs_to_lifted_tensor_constants
    weights: list[tuple[dict[str, Any], str]] = []
    for node in exported.graph.find_nodes(op="placeholder"):
        if node.name in held or node.name in lifted:
            if not node.users:  # such as the number of batches that a norm has seen
                exported.graph.erase_node(node)
            elif node.name in held:
                weights.append(_table_of(module, held[node.name]))
            else:
                weights.append((exported.constants, lifted[node.name]))
    hint = "torch.compile(model, backend='hidet') leaves such operators to eager torch"
    # What torch asserts of tensors on the way follows from the arguments, which a call checks.
    asserted = torch.ops.aten._assert_tensor_metadata.default
    for node in exported.graph.find_nodes(op="call_function", target=asserted):
        exported.graph.erase_node(node)
    merge_draws(exported.graph)
    lifted, draws = lift_draws(exported.graph_module)
    imported = import_whole(lifted, range(len(weights)), hint)
    flat, tree = tree_flatten(example_inputs)
    spec = exported.call_spec.out_spec
    assert spec is not None, "torch.export notes how results are put together"
    return DirectCall(CompiledProgram(imported, settings), weights, flat, tree, spec, draws)


def _table_of(module: torch.nn.Module, name: str) -> tuple[dict[str, Any], str]:
    """Return the table of a module that holds a weight, and the weight's name there."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    tables: list[dict[str, Any]] = [vars(owner)["_parameters"], vars(owner)["_buffers"]]
    return next(table for table in tables if last in table), last


__all__ = ["ByArguments", "DirectCall", "compile"]
