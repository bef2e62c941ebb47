"""The correctness report: the error of each operator of a model, compared to eager torch.

    dynamo_config.correctness_report()
    torch.compile(model, backend="hidet")(x)

    kind           operator                   dtype    error    attention
    placeholder    l_x_                       float32  0.0e+00
    call_function  conv2d (Conv2d conv1)      float32  2.1e-07
    ...
    output         0                          float32  3.0e-07

The first call compiles the graph again such that it returns every intermediate, and runs it on the
arguments of the call. The outputs of the compiled model itself come last.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch._guards import TracingContext, tracing
from torch._subclasses import FakeTensorMode

from hidet.frontends.torch.compiling import compiling
from hidet.frontends.torch.imported import returning

ALLOWED = {torch.float16: 1e-2, torch.bfloat16: 1e-1, torch.float64: 1e-10}
"""The tolerance of each data type; DEFAULT for others."""
DEFAULT = 1e-5

HEADINGS = ("", "kind", "operator", "dtype", "error", "attention")


class Reporting:
    """A compiled graph that prints its report at the first call."""

    def __init__(
        self,
        module: fx.GraphModule,
        program: Callable[..., Any],
        compile_graph: Callable[[fx.GraphModule, list[Any]], Callable[..., Any]],
    ) -> None:
        self._program = program
        self._compile = compile_graph
        self._module: fx.GraphModule | None = module

    def __call__(self, *arguments: Any) -> Any:
        """Run the program, after the report at the first call."""
        module, self._module = self._module, None
        if module is not None:
            print_report: Any = torch.compiler.disable(self._print)
            print_report(module, arguments)
        return self._program(*arguments)

    def _print(self, module: fx.GraphModule, arguments: Sequence[Any]) -> None:
        """Print the report for the arguments of a call."""
        nodes, every = _with_all_results(module, arguments)
        with compiling(), tracing(TracingContext(FakeTensorMode())):
            program = self._compile(every, _copies(arguments))
        eager = _run(every, arguments)
        rows = [
            (node.op, _name_of(node), value, _error(found, value))
            for node, found, value in zip(nodes, _run(program, arguments), eager, strict=True)
        ]
        outputs = zip(_run(self._program, arguments), _run(module, arguments), strict=True)
        rows += [
            ("output", str(number), value, _error(found, value))
            for number, (found, value) in enumerate(outputs)
            if isinstance(value, torch.Tensor)
        ]
        print(_table(rows))


def _with_all_results(
    module: fx.GraphModule, arguments: Sequence[Any]
) -> tuple[list[fx.Node], fx.GraphModule]:
    """Return the nodes of a graph whose value is a tensor, and a copy of it that returns these."""
    inputs = module.graph.find_nodes(op="placeholder")
    weights = {
        node
        for node, argument in zip(inputs, arguments, strict=True)
        if hasattr(argument, "_dynamo_static_input_type")  # what dynamo marks weights with
    }
    shown = [
        node
        for node in module.graph.nodes
        if node not in weights and isinstance(node.meta.get("example_value"), torch.Tensor)
    ]
    return shown, returning(module, shown)


def _copies(arguments: Sequence[Any]) -> list[Any]:
    """Return copies of arguments, which a call may write."""
    return [a.detach().clone() if isinstance(a, torch.Tensor) else a for a in arguments]


def _run(function: Callable[..., Any], arguments: Sequence[Any]) -> Sequence[Any]:
    """Call a function without gradients, on copies, with the same random numbers each time."""
    with torch.no_grad(), torch.random.fork_rng():
        torch.manual_seed(0)
        return function(*_copies(arguments))


def _error(found: torch.Tensor, value: torch.Tensor) -> float:
    """Return the largest |found - value| / (|value| + 1); equal infinities and NaN count as 0."""
    if value.numel() == 0:
        return 0.0
    one, other = found.double(), value.double()
    error = (one - other).abs() / (other.abs() + 1)
    same = (one == other) | (one.isnan() & other.isnan())
    return torch.where(same, 0.0, error).max().item()


def _name_of(node: fx.Node) -> str:
    """Return the name of a node's operator, and of the module that calls it."""
    if node.op == "placeholder":
        return node.name
    name = getattr(node.target, "__name__", str(node.target))
    modules = list(node.meta.get("nn_module_stack", {}).values())
    if not modules:
        return name
    path, kind = modules[-1]
    kind = str(getattr(kind, "__name__", kind)).rpartition(".")[2]
    return f"{name} ({kind} {path.partition('].')[2]})"


def _table(rows: Sequence[tuple[str, str, torch.Tensor, float]]) -> str:
    """Format rows of kind, operator, its result, and the error."""
    cells: list[tuple[str, ...]] = [HEADINGS]
    for number, (kind, operator, value, error) in enumerate(rows):
        dtype = str(value.dtype).removeprefix("torch.")
        mark = "" if error <= ALLOWED.get(value.dtype, DEFAULT) else "<---"
        cells.append((str(number), kind, operator, dtype, f"{error:.1e}", mark))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, tuple("-" * width for width in widths))
    padded = (zip(row, widths, strict=True) for row in cells)
    return "\n".join("  ".join(c.ljust(w) for c, w in row).rstrip() for row in padded)
