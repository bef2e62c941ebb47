"""Lowers the kernels of a program in worker processes, on all cores."""

import warnings
from contextlib import closing
from dataclasses import asdict

from xdsl.dialects.builtin import ModuleOp, StringAttr

from hidet.analysis.kernels import kernels_of
from hidet.backend.build import KernelBuilds
from hidet.backend.toolchains import Toolchain
from hidet.context import make_context
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.marks import BINARY
from hidet.dialects.graph.creation import ConstantOp
from hidet.dialects.walking import ops_in
from hidet.driver.options import CompileOptions
from hidet.driver.packing import packed, unpacked
from hidet.pass_options import PassOptions
from hidet.runtime.times import LOWER_KERNELS, CompileTimes
from hidet.tuning.workers import WorkerCrash, WorkerError, WorkerPool

WORKER = "hidet.driver.lowering_worker"

LOWER_SECONDS = 120.0
"""The time limit of a kernel, after which this process lowers the program, and of a candidate of
the tuner, which is rejected."""

MIN_WORKERS, MAX_WORKERS = 4, 8
"""With fewer cores, compilers need all of them. More workers hardly end earlier: compilers, which
take ten times as long, are busy with the first kernels by then."""

MIN_OPERATORS, MIN_KERNELS = 24, 8
"""The size of a program, before and after fusion, from which workers pay for their start-up."""


def kernel_workers(module: ModuleOp, options: CompileOptions) -> WorkerPool | None:
    """Return workers for the kernels of a program of the graph dialect, which are not started yet.

    None if the program is too small or there are too few cores, or if the options ask for the
    program after each pass, or for checks of it.
    """
    count = min(options.num_workers, MAX_WORKERS)
    if count < MIN_WORKERS or options.dump_dir or options.verify_level or options.strict:
        return None
    operators = (op for op in module.walk() if op.dialect_name() == "graph")
    if sum(not isinstance(op, ConstantOp) for op in operators) < MIN_OPERATORS:
        return None
    return WorkerPool(WORKER, count, LOWER_SECONDS)


def lower_kernels(
    module: ModuleOp,
    workers: WorkerPool,
    options: PassOptions,
    toolchain: Toolchain,
    builds: KernelBuilds,
    report: CompileTimes,
) -> bool:
    """Lower the kernels of a program by `lowering-pipeline`, and replace their bodies by binaries.

    Return whether they are lowered; not if there are too few. The program comes from
    `schedule-pipeline`. Each kernel is built as soon as it is lowered. If a pass or a worker fails,
    nothing is replaced, so that the passes can run in this process, with their errors; a crash is
    warned of.
    """
    kernels = kernels_of(module)
    if len(kernels) < MIN_KERNELS:
        return False
    report.workers = workers.count
    context = make_context()
    headers: dict[KernelOp, KernelOp] = {}
    try:
        with report.stage(LOWER_KERNELS):
            # Large kernels come first: they take longest, also to compile. They are being lowered
            # while others are packed.
            kernels.sort(key=lambda kernel: len(ops_in(kernel)), reverse=True)
            requests = (
                {"kernel": packed(kernel), "options": asdict(options)} for kernel in kernels
            )
            with closing(workers.ask_each(requests)) as replies:
                for number, reply in replies:
                    if isinstance(reply, WorkerError):
                        raise reply
                    header = unpacked(context, reply["header"])
                    assert isinstance(header, KernelOp)
                    if reply["source"] is not None:
                        symbol = header.sym_name.data
                        key = builds.submit(symbol, reply["source"], toolchain.symbol(symbol))
                        header.attributes[BINARY] = StringAttr(key)
                    headers[kernels[number]] = header
                    report.add_kernel(reply["times"])
    except WorkerError as error:
        report.kernel_steps = []
        if isinstance(error, WorkerCrash):
            warnings.warn(
                f"a worker that lowers kernels failed, so this process lowers them: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
        return False
    for kernel, header in headers.items():
        module.body.block.insert_op_before(header, kernel)
        kernel.detach()
    return True
