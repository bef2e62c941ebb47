"""`hidet.compile`: ahead-of-time compilation, and calls without dynamo and its guards.

    fast = hidet.compile(model, x)
    fast(x)

A call checks the number of arguments, and the type, shape and device of each tensor. It looks
weights up in their modules: training, loading a state dict and replacing a parameter take effect.
Everything else is constant from the trace: `model.training`, numbers in attributes, also as tensors
that are neither parameters nor buffers, torch's flags.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from hidet.errors import HidetError
from hidet.frontends.torch.attention import WholeAttention
from hidet.frontends.torch.compiling import compiling
from hidet.frontends.torch.constants import hold
from hidet.frontends.torch.decompositions import decompositions
from hidet.frontends.torch.importer import import_whole
from hidet.frontends.torch.locations import raised_at
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.seeds import Draws, drawn, lift_draws, merge_draws
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.storage import Spec, guard_of
from hidet.limits import resource_errors

if TYPE_CHECKING:
    from hidet.runtime.profile import Profile


class _Function(torch.nn.Module):
    """Wraps a function as a module for torch.export."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *arguments: Any) -> Any:
        """Call the function."""
        return self.function(*arguments)


class DirectCall:
    """A compiled model, whose program looks up its weights.

    `examples` are the flat arguments of the trace, `tree` and `results` the pytrees of the
    arguments and of the outputs, `draws` the seeds that the program takes at the end.
    """

    def __init__(
        self,
        program: CompiledProgram,
        examples: Sequence[Any],
        tree: TreeSpec,
        results: TreeSpec,
        draws: Draws,
    ) -> None:
        self.program = program
        self._tree = tree
        self._results = results
        self.draws = draws
        self._is_flat = tree == tree_flatten(tuple(examples))[1]
        self._has_one_result = results == tree_flatten(torch.empty(0))[1]
        self.wanted = [Spec.of(e) if isinstance(e, torch.Tensor) else None for e in examples]
        """The spec of each tensor argument; None for other arguments."""
        self._is_known: Callable[..., bool] = lambda *_: False
        """Returns quickly whether these are tensors like those of an earlier call."""
        self._fixed = [None if isinstance(e, torch.Tensor) else e for e in examples]

    @property
    def weights(self) -> list[Any]:
        """The current weights, in the order in which the program takes them."""
        return self.program.weights

    def __call__(self, *arguments: Any) -> Any:
        """Run the model.

        Raises:
            HidetError: an argument does not match its example.
        """
        outputs = self.program.run(self._tensors(arguments))
        return outputs[0] if self._has_one_result else tree_unflatten(outputs, self._results)

    def __reduce__(self) -> Any:
        """Refuse `copy.deepcopy` and pickle: its weights are those of the model."""
        raise HidetError(
            "the result of hidet.compile cannot be copied or pickled",
            hint="compile a copy of the model, or write a file with hidet.save_graph",
        )

    def profile(self, *arguments: Any, runs: int = 20) -> Profile:
        """Measure each launch of the model; times are medians over a number of runs.

        Raises:
            HidetError: as a call; or the launches could not be measured.
        """
        return self.program.profile(self._tensors(arguments), runs)

    def _tensors(self, arguments: tuple[Any, ...]) -> Sequence[Any]:
        """Check arguments, and return those of the program."""
        flat: Sequence[Any] = arguments
        if not self._is_flat:
            flat, tree = tree_flatten(arguments)
            if tree != self._tree:
                raise HidetError(f"the arguments have the structure {tree}, not {self._tree}")
        if len(flat) != len(self.wanted):
            raise HidetError(f"{len(flat)} arguments; the model takes {len(self.wanted)}")
        tensors = flat if self._is_known(*flat) else self._checked(flat)
        return [*tensors, *drawn(self.draws)] if self.draws else tensors

    def _checked(self, flat: Sequence[Any]) -> list[Any]:
        """Check flat arguments, and copy those that differ in strides only."""
        tensors: list[Any] = []
        for number, (value, wanted) in enumerate(zip(flat, self.wanted, strict=True)):
            tensors.append(value if wanted is None else wanted.checked(value, "argument", number))
            if wanted is None and _kind(value) != _kind(fixed := self._fixed[number]):
                what = f"argument {number} is {value!r}; it was traced as {fixed!r}"
                raise HidetError(what, hint="hidet.compile it once more for this value")
        if tensors and None not in self.wanted and all(map(is_, tensors, flat)):
            self._is_known = guard_of(tensors)
        return tensors


class ByArguments:
    """A model that is compiled for each kind of arguments."""

    def __init__(self, compile_for: Callable[..., DirectCall]) -> None:
        self._compile_for = compile_for
        self._compiled: dict[tuple[object, ...], DirectCall] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the model."""
        flat, tree = tree_flatten(arguments)
        key = (tree, *map(_kind, flat))
        if key not in self._compiled:
            self._compiled[key] = self._compile_for(*arguments)
        return self._compiled[key](*arguments)


def _kind(value: object) -> object:
    """Return what a program is specialized to in an argument."""
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
    """Compile a module, or a function of tensors, for inference on arguments like these.

    Args:
        model: the module or the function.
        example_inputs: its arguments: tensors, in tuples, lists and dicts too, and numbers.
        recompile: recompile for other arguments, instead of refusing them; examples are optional
            then.
        mode: as for `torch.compile(..., backend="hidet")`.
        options: likewise.

    Raises:
        HidetError: the model mutates its arguments or buffers, or cannot be compiled as a whole.
    """
    settings = Settings.of(mode, options)
    if recompile:
        by_arguments = ByArguments(partial(_compile, model, settings))
        if example_inputs:
            by_arguments(*example_inputs)
        return by_arguments
    return _compile(model, settings, *example_inputs)


@resource_errors("the model cannot be compiled")
def _compile(model: Callable[..., Any], settings: Settings, *example_inputs: Any) -> DirectCall:
    """Return a model compiled for arguments like these; see `compile`."""
    module = model if isinstance(model, torch.nn.Module) else _Function(model)
    # torch.export, too, changes global state.
    with compiling(), torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning)  # torch's own about itself
        with WholeAttention():
            exported = _export(module, example_inputs)
        exported = exported.run_decompositions(cast("dict[Any, Any]", decompositions()))
    signature = exported.graph_signature
    changed = {**signature.buffers_to_mutate, **signature.user_inputs_to_mutate}
    if changed:
        raise HidetError(
            f"the model mutates {', '.join(changed.values())}",
            hint="call model.eval(), so that norms keep their statistics, or return new tensors",
        )
    hint = "torch.compile(model, backend='hidet') runs such operators in eager torch"
    weights = _weights_of(exported, module)
    merge_draws(exported.graph)
    graph_module, draws = lift_draws(exported.graph_module)
    imported = import_whole(graph_module, range(len(weights)), hint)
    flat, tree = tree_flatten(example_inputs)
    spec = exported.call_spec.out_spec
    assert spec is not None, "torch.export records the structure of results"
    program = CompiledProgram(imported, settings, weights=weights)
    return DirectCall(program, flat, tree, spec, draws)


def _export(module: torch.nn.Module, example_inputs: tuple[Any, ...]) -> Any:
    """Return a model as torch.export traces it."""
    try:
        return torch.export.export(module, example_inputs, strict=False)
    except GuardOnDataDependentSymNode as error:
        raise HidetError(
            "the model cannot be compiled as a whole: it branches on the elements of a tensor",
            where=raised_at(error),
            hint="torch.compile(model, backend='hidet') compiles the parts around the branch",
        ) from error


def _weights_of(
    exported: torch.export.ExportedProgram, module: torch.nn.Module
) -> list[tuple[dict[str, Any], str]]:
    """Return the tables of the weights that a graph takes, and let it hold the other constants."""
    signature, graph = exported.graph_signature, exported.graph
    names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    tensors: dict[str, Any] = exported.constants
    constants = {
        node: tensors[name] for node, name in signature.inputs_to_lifted_tensor_constants.items()
    }
    weights: list[tuple[dict[str, Any], str]] = []
    for node in graph.find_nodes(op="placeholder"):
        if node.name in names and node.users:
            weights.append(_table_of(module, names[node.name]))
        elif node.name in names or node.name in constants:
            if node.users:
                with graph.inserting_before(node):
                    constant = hold(exported.graph_module, constants[node.name])
                node.replace_all_uses_with(constant, propagate_meta=True)
            graph.erase_node(node)  # an unused one: the number of batches that a norm has seen
    return weights


def _table_of(module: torch.nn.Module, name: str) -> tuple[dict[str, Any], str]:
    """Return the dictionary of a module that holds a weight, and the weight's name there."""
    path, _, last = name.rpartition(".")
    owner = module.get_submodule(path)
    tables: list[dict[str, Any]] = [vars(owner)["_parameters"], vars(owner)["_buffers"]]
    return next(table for table in tables if last in table), last
