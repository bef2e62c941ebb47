"""Loads saved graphs; `hidet.graph.saved` writes them.

An untrusted file executes no code: its program may only consist of operators, which are verified,
and every look-up gets a bounds check. Binaries and script kernels are code: they are loaded only if
the file has the seal of this user's cache, or if the caller passes `trusted=True`.
"""

from dataclasses import replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import DiagnosticException, ParseError

from hidet.context import make_context
from hidet.dialects.graph.base import GraphOp, shape_of
from hidet.dialects.graph.creation import ConstantOp
from hidet.dialects.graph.shape import LookupOp, check_positions
from hidet.dialects.host_functions import FORWARD
from hidet.driver.compiler import load_binaries, machine_of, own_key
from hidet.errors import CacheError, HidetError
from hidet.frontends.torch.imported import ImportedGraph, Returned, Source
from hidet.frontends.torch.program import CompiledProgram
from hidet.frontends.torch.settings import Settings
from hidet.frontends.torch.storage import Spec, layout_of
from hidet.frontends.trace.flow_graph import BuiltGraph, FlowGraph
from hidet.frontends.trace.fused import Reader
from hidet.frontends.trace.pass_context import GraphSettings
from hidet.frontends.trace.recorded import Recorded
from hidet.frontends.trace.recording import Traced
from hidet.frontends.trace.tracing import example_of
from hidet.graph.saved import PLAN, PROGRAM, Content, Input, Output, SavedTensor, weight_part
from hidet.program_text import broken_string
from hidet.runtime.container import Container
from hidet.runtime.plan import Plan
from hidet.runtime.specs import TensorSpec
from hidet.runtime.tensors import DTYPES
from hidet.tensor import Tensor

_BROKEN = (
    DiagnosticException,
    ParseError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""The exceptions that parsing and verifying invalid text may raise."""


class LoadedGraph(FlowGraph):
    """A graph in a file; if `trusted`, code in it may run, whatever its seal.

    Raises:
        SavedGraphError: the file is inconsistent, or would have to be trusted.
    """

    def __init__(self, container: Container, *, trusted: bool) -> None:
        self._container = container
        self.content = content = container.content(Content)
        self._is_trusted = trusted
        self._settings = GraphSettings()
        device = torch.device(content.device)
        if device.type == "cuda":
            device = torch.device("cuda", torch.cuda.current_device())
        weights = [self._weight(n, each).to(device) for n, each in enumerate(content.weights)]
        inputs = [self._symbol(each, device) for each in content.inputs]
        self.recorded = Recorded(inputs, [], [], [Tensor(weight) for weight in weights])
        for number in (taken.origin for taken in content.taken):
            self._check(0 <= number < len(inputs), f"it has no input {number}")
        self.interface = ImportedGraph(
            device=device,
            inputs=[self._source(taken) for taken in content.taken],
            constants=[Source(len(inputs) + number, None) for number in range(len(weights))],
            outputs=[self._returned(output) for output in content.outputs],
            is_empty=False,
        )

    @cached_property
    def is_trusted(self) -> bool:
        """Whether code in the file may run."""
        return self._is_trusted or self._container.is_sealed_with(own_key())

    @cached_property
    def _shown(self) -> Recorded:
        """The operators of the program."""
        return Reader(self.imported(), self.recorded).read()

    def imported(self) -> ImportedGraph:
        """Return the imported program of the file.

        Raises:
            SavedGraphError: it is invalid, or contains kernels and is not trusted.
        """
        if self._settings.precision is not None:
            raise HidetError("a graph of a file keeps its precision", hint="trace it once more")
        try:
            text = self._container.read(PROGRAM).decode()
            self._check(broken_string(text) is None, "its program has an open string")
            module = Parser(make_context(), text).parse_module()
            module.verify()
            functions = [op for op in module.ops if isinstance(op, FuncOp)]
            self._check([f.sym_name.data for f in functions] == [FORWARD], "it has no @forward")
            if not self.is_trusted:
                self._guard(module)
            self._check_interface(functions[0])
        except _BROKEN as error:
            raise self._damaged(f"its program: {str(error).partition(chr(10))[0]}") from error
        return replace(self.interface, program=module)

    def __call__(self, *inputs: Any) -> Any:
        """Return the output, or a list of several."""
        return self._built(*inputs)

    def _guard(self, module: ModuleOp) -> None:
        """Reject code in an untrusted program, and add bounds checks to all look-ups."""
        for op in module.walk():
            if not isinstance(op, GraphOp | ModuleOp | FuncOp | ReturnOp):
                raise self._container.error(
                    f"its program has {op.name}, which is code, and the seal is of another cache",
                    "trusted=True runs it as it is",
                )
        for op in module.walk():
            if isinstance(op, LookupOp):
                self._check(op.extent > 0, "a look-up in nothing")
                check_positions(op)

    def _check_interface(self, function: FuncOp) -> None:
        """Check a program against the header."""
        weights = self.content.weights
        for op in function.walk():
            if isinstance(op, ConstantOp):
                number = int(op.key.data.removeprefix("p"))
                self._check(f"p{number}" == op.key.data, f"a constant '{op.key.data}'")
                shape, dtype = weights[number].shape, str(op.result_type.element_type)
                self._check(
                    number >= 0
                    and op.result_type.get_shape() == shape
                    and dtype == weights[number].dtype,
                    f"constant '{op.key.data}' is {op.result_type}, its weight {shape} of {dtype}",
                )
            for value in (*op.operands, *op.results):
                self._check(min(shape_of(value), default=0) >= 0, "a shape that is not static")
        kind = function.function_type
        self._check(len(kind.inputs.data) == len(self.content.taken), "it takes other inputs")
        for output in self.content.outputs:
            known = output.kind != "result" or output.origin < len(kind.outputs.data)
            self._check(known, f"it has no result {output.origin}")

    def _check(self, holds: bool, what: str) -> None:
        if not holds:
            raise self._damaged(what)

    def _damaged(self, what: str) -> HidetError:
        written = f"written by hidet {self.content.hidet}"
        return self._container.error(f"a saved graph that is damaged, {written}: {what}")

    def _weight(self, number: int, record: SavedTensor) -> torch.Tensor:
        """Return a weight, in the memory of the file."""
        data = self._container.part(weight_part(number))
        spec = TensorSpec(record.shape, record.dtype)
        fits = min(record.shape, default=0) >= 0 and spec.nbytes == len(data)
        self._check(fits, f"weight {number} has {len(data)} bytes")
        dtype = DTYPES[record.dtype]
        if not len(data):
            return torch.empty(record.shape, dtype=dtype)
        flat = torch.frombuffer(data, dtype=torch.uint8)
        # Bytes of a bool must be 0 or 1.
        tensor = flat.ne(0) if dtype == torch.bool else flat.view(dtype)
        return tensor.view(record.shape)

    def _symbol(self, record: SavedTensor, device: torch.device) -> Traced:
        shape, strides = record.shape, record.strides
        numbers = (*shape, *strides)
        fits = len(shape) == len(strides) and min(numbers, default=0) >= 0
        self._check(fits and max(numbers, default=0) < 1 << 48, f"an input of {record}")
        return Tensor(example_of(Spec(shape, strides, DTYPES[record.dtype], device)))

    def _source(self, taken: Input) -> Source:
        if taken.span >= 0:
            return Source(taken.origin, taken.span)
        record = self.content.inputs[taken.origin]
        tensor = torch.empty_strided(record.shape, record.strides, device="meta")
        return Source(taken.origin, None, layout_of(tensor))

    def _returned(self, output: Output) -> Returned:
        count = len(self.content.inputs) + len(self.content.weights)
        known = output.origin >= 0 and (output.kind == "result" or output.origin < count)
        self._check(known and len(output.views) <= 1, f"an output that is {output}")
        return Returned(output.kind, output.origin, next(iter(output.views), None))


def load_graph(file: str | PathLike[str], *, trusted: bool = False) -> LoadedGraph:
    """Load a saved graph. It is compiled, or found in the cache, when it is first called.

    Weights are memory-mapped on the CPU; the file may be replaced, but not written to. If it is
    `trusted`, script kernels in it may run, even if another user has written it.

    Raises:
        SavedGraphError: it is not a saved graph, or damaged.
        OSError: it cannot be read.
    """
    return LoadedGraph(Container(Path(file)), trusted=trusted)


def load_compiled(file: str | PathLike[str], *, trusted: bool = False) -> BuiltGraph:
    """Load what `save_compiled` has written, which runs without a compiler; see `load_graph`.

    If the file is `trusted`, its binaries may run, even if another user has written it.

    Raises:
        SavedGraphError: as `load_graph`; or it has no binaries, those of another architecture, or
            is not trusted.
    """
    container = Container(Path(file))
    graph = LoadedGraph(container, trusted=trusted)
    device, again = graph.interface.device, "hidet.load_graph compiles it for this machine"
    if graph.content.machine != (own := machine_of(device)):
        machine = graph.content.machine or "no machine"
        raise container.error(f"a saved graph with binaries for {machine}; this is {own}", again)
    if not graph.is_trusted:
        raise container.error(
            "its binaries are code, and the seal is of another cache",
            f"{again}; trusted=True runs them as they are",
        )
    try:
        plan = Plan.from_json(container.read(PLAN).decode())
    except (CacheError, UnicodeDecodeError) as error:
        raise container.error(f"a saved graph that is damaged: its plan: {error}") from error
    binaries = {k.artifact_key: container.read(k.artifact_key) for k in plan.kernels}
    compiled = load_binaries(plan, binaries, device)
    return BuiltGraph(CompiledProgram(graph.interface, Settings(), compiled), graph)


load_compiled_graph = load_compiled
