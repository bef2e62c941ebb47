"""The stages of a compilation: from a program to a plan and binaries."""

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from hidet.analysis.kernels import kernels_of
from hidet.arch.chips import Arch
from hidet.backend.build import PROGRESS, build_kernels
from hidet.backend.cache import Store, artifact_key
from hidet.backend.printer import print_kernel
from hidet.backend.toolchains import Toolchain
from hidet.context import make_context
from hidet.driver.dump import Dump
from hidet.driver.extract import extract_plan
from hidet.driver.options import CompileOptions
from hidet.driver.passes import lower
from hidet.driver.programs import Program
from hidet.driver.tuning import make_tuner, with_tuner
from hidet.legality.architecture import check_architecture
from hidet.lowering.pipelines import passes_of
from hidet.runtime.times import CompileTimes


def compile_program(
    module: ModuleOp,
    text: str,
    key: str,
    toolchain: Toolchain,
    arch: Arch,
    store: Store,
    options: CompileOptions,
    report: CompileTimes,
    device: str,
) -> Program:
    """Lower a program in place, print and build its kernels, and read its plan.

    Args:
        module: the program, of the graph dialect.
        text: the same program as text.
        key: its key in the cache, which names its folder in `dump_dir`.
        toolchain: the compiler of the kernels.
        arch: the target architecture.
        store: the cache, which receives the binaries.
        options: the options.
        report: receives the times of the stages and passes.
        device: the device that the tuner measures on.

    Raises: see `hidet.driver.compile_graph`.
    """
    dump = Dump(options.dump_dir, key)
    with report.stage("passes"):
        settings = options.for_passes(str(arch))

        def again() -> ModuleOp:
            return Parser(make_context(), text).parse_module()

        tuner = make_tuner(toolchain, arch, store, options, device)
        passes = with_tuner(passes_of("hidet-pipeline", settings), tuner)
        lower(module, passes, dump, report, again=again, verify=settings.verify)
    with report.stage("print"):
        for kernel in kernels_of(module):
            check_architecture(kernel, arch)
        sources = print_sources(module)
        dump.kernels(sources)
    with report.stage("build"):
        paths = build_kernels(
            sources,
            toolchain,
            store.kernels,
            symbols={symbol: toolchain.symbol(symbol) for symbol in sources},
            workers=options.num_workers,
            progress=PROGRESS[options.progress],
            time_limit=options.compile_time_limit,
        )
    with report.stage("plan"):
        fingerprint = toolchain.fingerprint()
        keys = {symbol: artifact_key(source, fingerprint) for symbol, source in sources.items()}
        plan = extract_plan(module, target=toolchain.target, artifact_keys=keys)
    if options.dump_dir is not None:
        dump.plan(plan.to_json())
        dump.logs(store, keys)
    return Program(plan, {keys[symbol]: path for symbol, path in paths.items()})


def print_sources(module: ModuleOp) -> dict[str, str]:
    """Return the source of each kernel with a nonempty grid, by its symbol."""
    kernels = [op for op in kernels_of(module) if 0 not in op.grid_dims]
    return {op.sym_name.data: print_kernel(op) for op in kernels}
