"""The stages of a compilation: from a program to a plan and binaries."""

from contextlib import nullcontext

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from hidet.analysis.kernels import kernels_of
from hidet.backend.build import PROGRESS, KernelBuilds
from hidet.backend.printer import print_kernels
from hidet.context import make_context
from hidet.driver.extract import extract_plan
from hidet.driver.parallel import kernel_workers, lower_kernels
from hidet.driver.passes import Dump, Lowering
from hidet.driver.programs import Program
from hidet.driver.target import Target
from hidet.driver.tuning import make_tuner, with_tuner
from hidet.legality.architecture import check_architecture
from hidet.loading import collector_paused
from hidet.lowering.pipelines import passes_of
from hidet.runtime.times import CompileTimes


def compile_program(
    module: ModuleOp | str, text: str, key: str, target: Target, report: CompileTimes
) -> Program:
    """Lower a program in place, print and build its kernels, and read its plan.

    `text` is the same program, and may be `module`, too; `key` names its folder in `dump_dir`. For
    errors see `hidet.driver.compile_graph`.
    """
    options, toolchain, store = target.options, target.toolchain, target.store
    dump = Dump(options.dump_dir, key)
    settings = options.for_passes(str(target.arch))
    tuner = make_tuner(target)

    def parse() -> ModuleOp:
        return Parser(make_context(), text).parse_module()

    module = parse() if isinstance(module, str) else module
    lowering = Lowering(
        module,
        dump,
        report,
        again=parse,
        verify=settings.verify,
    )
    with KernelBuilds(
        toolchain,
        store.kernels,
        workers=options.num_workers,
        progress=PROGRESS[options.progress],
        time_limit=options.compile_time_limit,
    ) as builds:
        # The garbage of the passes is collected after the pause, while compilers run.
        with collector_paused():
            with kernel_workers(module, options) or nullcontext() as workers:
                with report.stage("passes"):
                    if workers is not None and not tuner.has_work:
                        workers.start()  # they are ready when the program is scheduled
                    lowering.run(with_tuner(passes_of("schedule-pipeline", settings), tuner))
                is_lowered = workers is not None and lower_kernels(
                    module, workers, settings, toolchain, builds, report
                )
            with report.stage("passes"):
                of_kernels = passes_of("lowering-pipeline", settings)
                (lowering.have_run if is_lowered else lowering.run)(of_kernels)
                lowering.run(passes_of("host-pipeline", settings))
            if not is_lowered:
                build_printed(module, target, builds, report, dump)
            with report.stage("plan"):
                plan = extract_plan(module, target=toolchain.target)
        with report.stage("build"):
            binaries = builds.wait()
    if options.dump_dir is not None:
        dump.plan(plan.to_json())
        dump.logs(store, builds.keys)
    return Program(plan, {builds.keys[symbol]: binary for symbol, binary in binaries.items()})


def build_printed(
    module: ModuleOp, target: Target, builds: KernelBuilds, report: CompileTimes, dump: Dump
) -> None:
    """Print the kernels of a lowered program, and replace their bodies by binaries."""
    kernels = kernels_of(module)
    with report.stage("print"):
        for kernel in kernels:
            check_architecture(kernel, target.arch)
        sources = print_sources(module)
        dump.kernels(sources)
    with report.stage("build"):
        for kernel in kernels:
            symbol = kernel.sym_name.data
            if symbol in sources:
                name = target.toolchain.symbol(symbol)
                kernel.replace_body(builds.submit(symbol, sources[symbol], name))


def print_sources(module: ModuleOp) -> dict[str, str]:
    """Return the source of each kernel with a nonempty grid, by its symbol."""
    kernels = [op for op in kernels_of(module) if 0 not in op.grid_dims]
    return {op.sym_name.data: print_kernels(op) for op in kernels}
