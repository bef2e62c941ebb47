"""`hidet compile`, `run`, `profile`, `tune`, `bench`: models, saved graphs, configs of fusions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import hidet
from hidet import option
from hidet.errors import HidetError

if TYPE_CHECKING:
    import torch
    from xdsl.dialects.builtin import ModuleOp

    from hidet.graph import BuiltGraph

DTYPES = ("f16", "bf16", "f32")
"""The operand types of `hidet bench matmul`."""


def add_commands(commands: Any) -> None:
    """Add the commands."""
    tune = commands.add_parser("tune", help="search for the configs of a program's fusions")
    tune.add_argument("file", type=Path, help="a program of graph operations or of fusions")
    tune.set_defaults(action=_tune)
    bench = commands.add_parser("bench", help="the config of one product, or the time of a graph")
    benches = bench.add_subparsers(dest="product", required=True)
    matmul = benches.add_parser("matmul", help="[M, K] times [K, N], which is a weight")
    for name in ("m", "n", "k"):
        matmul.add_argument(name, type=_extent, metavar=name.upper())
    matmul.add_argument("--dtype", choices=DTYPES, default="f16", help="of the factors")
    matmul.set_defaults(action=_bench_matmul)
    for command in (tune, matmul):
        command.add_argument(
            "--space", type=int, choices=(1, 2), default=2, help="see the option search_space"
        )
        command.add_argument(
            "--cold", action="store_true", help="read weights from memory, also where they fit L2"
        )
    build = commands.add_parser("compile", help="compile a model to a saved graph")
    build.add_argument("model", type=Path, help="model.onnx, or what torch.export.save has written")
    build.add_argument("-o", "--output", type=Path, required=True, help="the saved graph")
    build.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="default: cpu")
    build.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="NAME=1x3x224x224",
        help="the shape of an input of ONNX, where the model leaves it open",
    )
    build.set_defaults(action=_compile)
    run = commands.add_parser("run", help="run a saved graph on random inputs")
    run.set_defaults(action=_run)
    profile = commands.add_parser("profile", help="what each launch of a saved graph takes")
    profile.add_argument("--html", type=Path, metavar="PAGE", help="write a page with a timeline")
    profile.add_argument("--runs", type=int, default=20, help="times are medians of; default: 20")
    profile.set_defaults(action=_profile)
    graph = benches.add_parser("graph", help="how long a call of a saved graph takes")
    graph.set_defaults(action=_bench_graph)
    for command in (run, profile, graph):
        command.add_argument("file", type=Path, help="the saved graph, with binaries")
        command.add_argument("--trusted", action="store_true", help="run binaries of others, too")


def _compile(arguments: argparse.Namespace) -> None:
    import torch

    from hidet.backend.build import PROGRESS, ProgressBar

    bar = ProgressBar("Reading", PROGRESS[option.get_option("progress")], total=3, unit="step")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise HidetError("there is no CUDA device", hint="--device cpu compiles for the CPU")
    with bar, torch.no_grad():
        module, inputs = _read(arguments.model, arguments.shape)
        bar.update()
        bar.set_description("Compiling")
        device = arguments.device
        direct: Any = hidet.compile(module.to(device), *(x.to(device) for x in inputs))
        bar.update()
        bar.set_description("Saving")
        hidet.save_compiled(direct, arguments.output)
    print(f"{arguments.output}: {arguments.output.stat().st_size / 1e6:.1f} MB")


def _read(path: Path, shapes: Sequence[str]) -> tuple[torch.nn.Module, list[torch.Tensor]]:
    import torch

    from hidet.graph.frontend import from_onnx

    if path.suffix == ".onnx":
        model = from_onnx(path).module
        given = dict(shape.split("=", 1) for shape in shapes if "=" in shape)
        inputs = ", ".join(model.input_specs)
        if len(given) < len(shapes) or not given.keys() <= model.input_specs.keys():
            raise HidetError(
                f"--shape {' --shape '.join(shapes)} does not name inputs once each",
                hint=f"write NAME=1x3x224x224; the inputs are {inputs}",
            )
        return model, [_input(name, spec, given) for name, spec in model.input_specs.items()]
    if shapes:
        raise HidetError("--shape is for ONNX; shapes of a torch.export program are fixed")
    try:
        program = torch.export.load(path)
    except (BadZipFile, RuntimeError, ValueError) as error:
        raise HidetError(
            f"this is no program that torch.export.save has written: {error}", where=str(path)
        ) from error
    if program.example_inputs is None or program.example_inputs[1]:
        raise HidetError("a program without examples of its inputs by position", where=str(path))
    return program.module(), list(program.example_inputs[0])


def _input(name: str, spec: tuple[torch.dtype, list[int]], given: dict[str, str]) -> torch.Tensor:
    """Return zeros of the shape and type of an input; -1 is a dynamic size."""
    import torch

    dtype, shape = spec
    wanted = given.get(name, "x".join(map(str, shape)))
    hint = f"say it: --shape {name}={'x'.join(str(max(size, 1)) for size in shape)}"
    try:
        sizes = [int(size) for size in wanted.split("x") if size]
    except ValueError as error:
        raise HidetError(f"'{wanted}' is no shape", hint=hint) from error
    if len(sizes) != len(shape) or min(sizes, default=0) < 0:
        raise HidetError(f"input '{name}' has shape {shape}, where -1 is open", hint=hint)
    return torch.zeros(sizes, dtype=dtype)


def _load(arguments: argparse.Namespace) -> BuiltGraph:
    return hidet.load_compiled(arguments.file, trusted=arguments.trusted)


def _run(arguments: argparse.Namespace) -> None:
    """Run a saved graph once, and print a summary of its outputs."""
    graph = _load(arguments)
    for number, output in enumerate(graph.run_async(graph.dummy_inputs())):
        values = output.torch().double()
        shown = "" if not values.numel() else f", {values.min():.4g} to {values.max():.4g}"
        print(f"output {number}: {output.signature()}{shown}, mean {values.mean():.4g}")


def _profile(arguments: argparse.Namespace) -> None:
    profile = _load(arguments).profile(runs=arguments.runs)
    print(profile)
    if arguments.html is not None:
        profile.save(arguments.html, arguments.file.name)


def _bench_graph(arguments: argparse.Namespace) -> None:
    from hidet.utils.benchmark import benchmark_func

    graph = _load(arguments)
    inputs = graph.dummy_inputs()
    milliseconds: float = benchmark_func(lambda: graph.run_async(inputs), 5, 1, 20)
    print(f"{arguments.file}: {milliseconds:.4f} ms, the median of 20 calls")


def _extent(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _tune(arguments: argparse.Namespace) -> None:
    _search(arguments.file.read_text(), str(arguments.file), arguments)


def _bench_matmul(arguments: argparse.Namespace) -> None:
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
