"""What torch calls in the place of an FX graph."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

import torch

from hidet import option
from hidet.errors import HidetError
from hidet.frontends.torch.half import set_precision
from hidet.frontends.torch.imported import ImportedGraph, Returned, Source
from hidet.frontends.torch.settings import Settings
from hidet.runtime.snapshots import Snapshots
from hidet.runtime.times import CompileTimes

if TYPE_CHECKING:
    from hidet.runtime.compiled_graph import CompiledGraph
    from hidet.runtime.profile import Profile

Arguments = Sequence[Any]
"""The arguments of an FX graph: tensors, and numbers that the graph has taken in already."""


class Runnable(Protocol):
    """What the compile driver makes of a program; see `hidet.runtime.CompiledGraph`."""

    report: CompileTimes
    snapshots: Snapshots

    @property
    def constant_names(self) -> Sequence[str]:
        """The names of the constants that it takes, in order."""
        ...

    def run(
        self, inputs: Sequence[torch.Tensor], constants: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Give the results for inputs and constants."""
        ...

    def profile(
        self, inputs: Sequence[torch.Tensor], constants: Sequence[torch.Tensor], *, runs: int
    ) -> "Profile":
        """Run the program so many times, and return what its launches take."""
        ...


# By identity, in the order in which they were made; a graph that dies takes its entry along.
_LIVE: WeakValueDictionary[int, "CompiledGraph"] = WeakValueDictionary()


def compiled_graphs() -> list["CompiledGraph"]:
    """List the graphs that the backend has compiled in this process, newest last.

    A `torch.compile` makes one of each graph, shape and part that it compiles, when the model is
    called. The `report` of a graph tells how long each stage of its compilation took, its `plan`
    what it launches, its `profile()` what each launch takes. Listing keeps nothing alive: a graph
    is there as long as torch holds it, at most until `torch.compiler.reset()`.
    """
    # The list of references is made at once, while other threads may compile.
    graphs = (reference() for reference in _LIVE.valuerefs())
    return [graph for graph in graphs if graph is not None]


def compile_module(imported: ImportedGraph, settings: Settings) -> Runnable:
    """Compile the program of an imported graph."""
    from hidet.driver import compile_graph

    if imported.device.type == "cuda":
        set_precision(imported.module, settings)
    with option.context(**settings.options):
        compiled = compile_graph(
            imported.module,
            device=imported.device,
            options={"use_cuda_graph": settings["use_cuda_graph"]},
        )
    _LIVE[id(compiled)] = compiled
    return compiled


class CompiledProgram:
    """A compiled FX graph, called with the list of its arguments, as AOTAutograd wants it.

    Which argument goes where is settled here once; a call only picks and passes on.

    Args:
        imported: the graph.
        settings: how it is compiled.
        runnable: what runs it, where it has been compiled before.

    Attributes:
        report: what compiling has taken; None where there was nothing to compile.
        runnable: what runs it.
        interface: the graph without its program.
    """

    def __init__(
        self, imported: ImportedGraph, settings: Settings, runnable: Runnable | None = None
    ) -> None:
        # Tells torch to pass one list; torch copies what is in the object, not in the class.
        self._boxed_call = True
        self._run: Callable[..., Sequence[torch.Tensor]] = _nothing
        self.report: CompileTimes | None = None
        self.interface = ImportedGraph(
            device=imported.device,
            inputs=imported.inputs,
            constants=imported.constants,
            outputs=imported.outputs,
            updates=imported.updates,
        )
        constants = imported.constants
        if runnable is None and not imported.is_empty:
            runnable = compile_module(imported, settings)
        self.runnable = runnable
        if runnable is not None:
            self._run, self.report = runnable.run, runnable.report
            # The driver has no use for some constants, perhaps, or another order.
            constants = [constants[int(name.removeprefix("p"))] for name in runnable.constant_names]
        self._inputs = _reader(imported.inputs)
        self._constants = _reader(constants)
        plain = [Returned("result", number) for number in range(len(imported.outputs))]
        is_plain = imported.outputs == plain and not imported.updates
        self._outputs = None if is_plain else tuple(imported.outputs)
        self._updates = imported.updates

    def __call__(self, arguments: Arguments) -> Sequence[Any]:
        """Give the outputs of the FX graph."""
        results = self._run(self._inputs(arguments), self._constants(arguments))
        if self._outputs is None:
            return results
        outputs = [output_of(returned, results, arguments) for returned in self._outputs]
        updates = [(n, output_of(each, results, arguments)) for n, each in self._updates]
        for number, content in updates:
            arguments[number].detach().copy_(content)
        return outputs

    def profile(self, arguments: Arguments, runs: int) -> "Profile":
        """Run the program some times, and return what its launches take.

        Raises:
            HidetError: there is no program, or its launches could not be measured.
        """
        if self.runnable is None:
            raise HidetError("the graph has no program, so there is nothing to measure")
        inputs, constants = self._inputs(arguments), self._constants(arguments)
        return self.runnable.profile(inputs, constants, runs=runs)


def _nothing(inputs: object, constants: object) -> Sequence[torch.Tensor]:
    """Run a program without results."""
    return ()


def _reader(sources: Sequence[Source]) -> Callable[[Arguments], Sequence[torch.Tensor]]:
    """Make the function that picks the tensors of a program out of the arguments."""
    positions = [s.origin for s in sources if isinstance(s.origin, int) and s.span is None]
    if len(positions) < len(sources):
        return lambda arguments: [read(source, arguments) for source in sources]
    # Weights stand side by side, around the inputs: one or two slices, which cost next to nothing.
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
    """Cut positions into runs of successive ones."""
    runs: list[slice] = []
    for position in positions:
        if runs and runs[-1].stop == position:
            runs[-1] = slice(runs[-1].start, position + 1)
        else:
            runs.append(slice(position, position + 1))
    return runs


def read(source: Source, arguments: Arguments) -> torch.Tensor:
    """Give one tensor as the program takes it."""
    tensor = _origin(source.origin, arguments)
    return tensor if source.span is None else tensor.as_strided((source.span,), (1,))


def _origin(origin: int | torch.Tensor, arguments: Arguments) -> torch.Tensor:
    """Give an argument by its number, or the tensor that the graph holds."""
    return arguments[origin] if isinstance(origin, int) else origin


def output_of(returned: Returned, results: Sequence[torch.Tensor], arguments: Arguments) -> Any:
    """Give one output of the FX graph."""
    if returned.kind == "value":
        return returned.origin
    if returned.kind == "result":
        number: int = returned.origin
        tensor = results[number]
    else:
        tensor = _origin(returned.origin, arguments)
    if returned.kind == "copy":
        tensor = tensor.clone(memory_format=torch.contiguous_format)
    if returned.dtype is not None:
        tensor = tensor.view(returned.dtype)
    return tensor if returned.view is None else returned.view.of(tensor)
