"""`hidet tune` and `hidet bench`: searches for configs, and shows all candidates."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

DTYPES = ("f16", "bf16", "f32")
"""The operand types of `hidet bench`."""


def add_commands(commands: Any) -> Any:
    """Add both commands; return the subparsers of `bench`."""
    tune = commands.add_parser("tune", help="search for the configs of a program's fusions")
    tune.add_argument("file", type=Path, help="a program of graph operations or of fusions")
    tune.set_defaults(action=_tune)
    bench = commands.add_parser("bench", help="the config of one product, or the time of a graph")
    products = bench.add_subparsers(dest="product", required=True)
    matmul = products.add_parser("matmul", help="[M, K] times [K, N], which is a weight")
    for name in ("m", "n", "k"):
        matmul.add_argument(name, type=_extent, metavar=name.upper())
    matmul.add_argument("--dtype", choices=DTYPES, default="f16", help="of the factors")
    matmul.set_defaults(action=_bench)
    for command in (tune, matmul):
        command.add_argument(
            "--space", type=int, choices=(1, 2), default=2, help="see the option search_space"
        )
        command.add_argument(
            "--cold", action="store_true", help="read weights from memory, also where they fit L2"
        )
    return products


def _extent(text: str) -> int:
    """Parse an extent of a matrix."""
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _tune(arguments: argparse.Namespace) -> None:
    """Tune the program in a file."""
    _search(arguments.file.read_text(), str(arguments.file), arguments)


def _bench(arguments: argparse.Namespace) -> None:
    """Tune one matmul."""
    m, n, k, kind = arguments.m, arguments.n, arguments.k, arguments.dtype
    x, w, y = (f"tensor<{a}x{b}x{kind}>" for a, b in ((m, k), (k, n), (m, n)))
    text = f"""func.func @forward(%x: {x}) -> {y} {{
      %w = graph.constant "p0" : {w}
      %y = graph.matmul %x, %w : ({x}, {w}) -> {y}
      func.return %y : {y}
    }}"""
    _search(text, "<matmul>", arguments)


def _search(text: str, name: str, arguments: argparse.Namespace) -> None:
    """Search again for the configs of a program, and print the outcome."""
    import torch

    from hidet.driver.options import CompileOptions
    from hidet.driver.target import Target
    from hidet.driver.tuning import make_tuner
    from hidet.tuning.search import report

    options = CompileOptions.current({"search_space": arguments.space})
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if options.target != "auto":
        device = torch.device(options.target)
    if device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
    target = Target.of(device, options)
    module = _fusions(text, name, str(target.arch))
    tuner = make_tuner(target, again=True, cold=arguments.cold)
    tuner.tune(module)
    print("\n\n".join(map(report, tuner.searches)) or "no fusion has a choice of configs")


def _fusions(text: str, name: str, arch: str) -> ModuleOp:
    """Parse a program, and run the fusion passes on it."""
    from xdsl.parser import Parser
    from xdsl.utils.exceptions import ParseError

    from hidet.context import make_context
    from hidet.dialects.compute import FusionOp
    from hidet.errors import HidetError
    from hidet.lowering.pipelines import PassOptions, run_pipeline

    context = make_context()
    try:
        module = Parser(context, text, name).parse_module()
    except ParseError as error:
        raise HidetError(f"it is no program: {error}", where=name) from error
    if not any(isinstance(op, FusionOp) for op in module.walk()):
        for pipeline in ("graph-pipeline", "compute-pipeline"):
            run_pipeline(module, context, PassOptions(arch), pipeline=pipeline)
    return module
