"""Compiled FX graphs, as torch calls them."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import torch

from hidet import option
from hidet.errors import HidetError
from hidet.frontends.torch.imported import Interface, Returned, Source
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.storage import parts_of
from hidet.runtime.snapshots import LookUp
from hidet.runtime.times import CompileTimes

if TYPE_CHECKING:
    from hidet.runtime.compiled_graph import CompiledGraph
    from hidet.runtime.profile import Profile

Arguments = Sequence[Any]
"""The arguments of an FX graph: tensors, and numbers, which are already constants of the graph."""


# By identity, in the order of their creation.
_LIVE: WeakValueDictionary[int, "CompiledGraph"] = WeakValueDictionary()


def compiled_graphs() -> list["CompiledGraph"]:
    """Return the graphs that the backend has compiled in this process, newest last.

    `torch.compile` creates one for each graph, shape and partition, when the model is called. The
    `report` of a graph has the times of the stages of its compilation, its `plan` the launches, and
    its `profile()` measures them. A graph is listed while torch holds it, at most until
    `torch.compiler.reset()`.
    """
    # Other threads may be compiling: valuerefs() copies the references at once.
    graphs = (reference() for reference in _LIVE.valuerefs())
    return [graph for graph in graphs if graph is not None]


def compile_module(imported: Interface, settings: Settings) -> "CompiledGraph":
    """Compile an imported graph; the text of a program has the precision of the settings."""
    from hidet.driver import compile_graph

    if imported.device.type == "cuda" and not isinstance(imported.program, str):
        from hidet.frontends.torch.precision import set_precision

        set_precision(imported.program, settings)
    with option.context(**settings.options):
        compiled = compile_graph(
            imported.program,
            device=imported.device,
            options={"use_cuda_graph": settings["use_cuda_graph"]},
        )
    _LIVE[id(compiled)] = compiled
    return compiled


class CompiledProgram:
    """A compiled FX graph, called with the list of its arguments, as AOTAutograd does.

    `weights` are the dictionaries that hold the first arguments, with their keys. Each call looks
    them up, and takes only the other arguments. What depends on weights alone is computed in each
    call if these are `changing` between calls, as in training.

    Attributes:
        report: the times of compilation; None if there was nothing to compile.
        runnable: the compiled program, if there is one; it may have been compiled before.
        interface: the graph without its program.
    """

    def __init__(
        self,
        imported: Interface,
        settings: Settings,
        runnable: "CompiledGraph | None" = None,
        weights: Sequence[tuple[dict[str, Any], str]] = (),
        *,
        changing: bool = False,
    ) -> None:
        # Makes torch pass one list. torch copies the attributes of the object, not of the class.
        self._boxed_call = True
        self._run: Callable[..., Sequence[torch.Tensor]] = lambda *_: ()
        self.report: CompileTimes | None = None
        self.interface = imported.with_program("")
        constants = imported.constants
        if runnable is None and not imported.is_empty:
            runnable = compile_module(imported, settings)
            if changing:
                runnable.prepare_in_calls()
        self.runnable = runnable
        if runnable is not None:
            self._run, self.report = runnable.run, runnable.report
            # The compiler may have dropped or reordered constants.
            constants = [constants[int(name.removeprefix("p"))] for name in runnable.constant_names]
        self._weights = weights
        self._inputs = _reader(
            [replace(s, origin=s.origin - len(weights)) for s in imported.inputs]
        )
        self._constants: Callable[[Arguments], Iterable[torch.Tensor]] = _reader(constants)
        if weights:
            look_up = LookUp([_entry(source, weights) for source in constants])
            self._constants = lambda _: look_up
        outputs = imported.outputs
        if runnable is not None:
            outputs = _lay_out(runnable, imported, constants)
        plain = [Returned("result", number) for number in range(len(outputs))]
        is_plain = outputs == plain and not imported.updates
        self._outputs = None if is_plain else _Outputs(outputs)

    @property
    def weights(self) -> list[Any]:
        """The current weights that are looked up."""
        return [table[key] for table, key in self._weights]

    def run(self, arguments: Arguments) -> Sequence[Any]:
        """Run the program, and return the outputs of the FX graph."""
        results = self._run(self._inputs(arguments), self._constants(arguments))
        if self._outputs is None:
            return results
        if self._weights:
            arguments = [*self.weights, *arguments]
        outputs = self._outputs(results, arguments)
        updates = [(n, output_of(e, results, arguments)) for n, e in self.interface.updates]
        for number, content in updates:
            arguments[number].detach().copy_(content)
        return outputs

    __call__ = run

    def profile(self, arguments: Arguments, runs: int) -> "Profile":
        """Measure each launch over a number of runs.

        Raises:
            HidetError: the graph is empty, or its launches could not be measured.
        """
        if self.runnable is None:
            raise HidetError("the graph has no operators, so there is nothing to measure")
        inputs, constants = self._inputs(arguments), self._constants(arguments)
        return self.runnable.profile(inputs, constants, runs=runs)


def _lay_out(
    runnable: "CompiledGraph", imported: Interface, constants: Sequence[Source]
) -> list[Returned]:
    """Let a graph take and allocate tensors with the strides of torch; return the outputs then.

    To make a view takes longer than to allocate a tensor. Views are left of results that have
    several, or whose layout cannot be changed.
    """
    results = [each for each in imported.outputs if each.kind == "result"]
    contents = (content for _, content in imported.updates if content.kind == "result")
    uses = Counter(each.origin for each in (*results, *contents))
    views = {
        each.origin: (each.view.shape, each.view.strides)
        for each in results
        if each.view is not None and each.dtype is None and uses[each.origin] == 1
    }
    inputs, weights = (
        {n: source.layout for n, source in enumerate(sources) if source.layout is not None}
        for sources in (imported.inputs, constants)
    )
    laid_out = runnable.lay_out(views, inputs=inputs, constants=weights)
    done = {("result", number) for number in laid_out}
    return [
        replace(each, view=None) if (each.kind, each.origin) in done else each
        for each in imported.outputs
    ]


def _entry(
    source: Source, weights: Sequence[tuple[dict[str, Any], str]]
) -> tuple[dict[str, Any], str, int | None]:
    """Return the entry of a `LookUp` for a constant: a weight of this number, or a tensor."""
    origin = source.origin
    table, key = weights[origin] if isinstance(origin, int) else ({"": origin}, "")
    return table, key, source.span


def _reader(sources: Sequence[Source]) -> Callable[[Arguments], Sequence[torch.Tensor]]:
    """Return a function that picks the tensors of a program out of the arguments."""
    plain = [s for s in sources if s.span is None and not s.is_complex]
    positions = [s.origin for s in plain if isinstance(s.origin, int)]
    if len(positions) < len(sources):
        return lambda arguments: [read(source, arguments) for source in sources]
    # Weights are mostly contiguous, before or after the inputs: slices are the fastest way.
    match _runs(positions):
        case []:
            return lambda _: []
        case [run]:
            return itemgetter(run)
        case [one, other]:
            return lambda arguments: [*arguments[one], *arguments[other]]
        case _:
            pick = itemgetter(*positions)
            return lambda arguments: list(pick(arguments))


def _runs(positions: Sequence[int]) -> list[slice]:
    """Return the slices of consecutive positions."""
    # The numbers of a run are all as far ahead of their place in the list.
    runs = groupby(enumerate(positions), lambda each: each[1] - each[0])
    numbers = [[position for _, position in run] for _, run in runs]
    return [slice(run[0], run[-1] + 1) for run in numbers]


def read(source: Source, arguments: Arguments) -> torch.Tensor:
    """Return an argument or constant as the program takes it."""
    tensor = parts_of(_origin(source.origin, arguments))
    return tensor if source.span is None else tensor.as_strided((source.span,), (1,))


def _origin(origin: int | torch.Tensor, arguments: Arguments) -> torch.Tensor:
    """Return the argument of a number, or the constant itself."""
    return arguments[origin] if isinstance(origin, int) else origin


class _Outputs:
    """The outputs of an FX graph, of the results of the program and the arguments."""

    def __init__(self, outputs: Sequence[Returned]) -> None:
        self._outputs = outputs
        self._pick: Callable[[Sequence[Any]], Sequence[Any]] | None = None
        """Returns those that are results or arguments as they are, and None for others."""
        self._made: list[tuple[int, Returned]] = []
        """The others, with their positions."""

    def __call__(self, results: Sequence[torch.Tensor], arguments: Arguments) -> list[Any]:
        """Return the outputs."""
        if self._pick is None:
            self._pick = self._picker(len(results))
        outputs = list(self._pick([None, *results, *arguments]))
        for position, returned in self._made:
            outputs[position] = output_of(returned, results, arguments)
        return outputs

    def _picker(self, count: int) -> Callable[[Sequence[Any]], Sequence[Any]]:
        """Decide how to get each output, of None, so many results, and the arguments."""
        positions, made = list[int](), list[tuple[int, Returned]]()
        for position, each in enumerate(self._outputs):
            is_whole = each.view is None and each.dtype is None
            if each.kind == "result" and is_whole:
                positions.append(1 + each.origin % count)
            elif each.kind == "source" and is_whole:
                positions.append(1 + count + each.origin)
            else:
                positions.append(0)
                made.append((position, each))
        self._made = made
        if len(positions) < 2:  # of one position, itemgetter returns the item
            return lambda values: [values[position] for position in positions]
        return itemgetter(*positions)


def output_of(returned: Returned, results: Sequence[torch.Tensor], arguments: Arguments) -> Any:
    """Return one output of the FX graph."""
    if returned.kind == "value":
        return returned.origin
    if returned.kind == "result":
        number: int = returned.origin
        tensor = results[number]
    else:
        tensor = parts_of(_origin(returned.origin, arguments))
    if returned.kind == "copy":
        tensor = tensor.clone(memory_format=torch.contiguous_format)
    if returned.view is not None:
        tensor = returned.view.of(tensor)
    if returned.dtype is None:
        return tensor
    return (
        torch.view_as_complex(tensor) if returned.dtype.is_complex else tensor.view(returned.dtype)
    )
