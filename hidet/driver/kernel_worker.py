"""A worker that lowers kernels of a program: `python -m hidet.driver.kernel_worker`.

It does not import torch.
"""

import gc
from time import perf_counter

from xdsl.parser import Parser

from hidet.analysis.kernels import kernels_of
from hidet.arch.chips import Arch
from hidet.backend.printer import print_kernel
from hidet.context import make_context
from hidet.dialects.locations import located_text
from hidet.legality.architecture import check_architecture
from hidet.lowering.blame import blame
from hidet.lowering.pipelines import PassOptions, passes_of
from hidet.tuning.workers import Message, serve

CONTEXT = make_context()

WARM_UP = "cuda.kernel @f() grid(1) block(32) {}"
"""The kernel that is lowered before the first request, to load dialects and passes."""


def lower(request: Message) -> Message:
    """Lower a kernel.

    Args:
        request: the text of the `kernel`, after `schedule-pipeline`, and the `options` of passes.

    Returns:
        The `source`, None for an empty grid, the lowered kernel without its body as `header`, and
        the name and seconds of each step as `times`.

    Raises:
        HidetError: a pass failed, or the kernel is not for this architecture.
    """
    times: list[tuple[str, float]] = []
    last = perf_counter()

    def record(step: str) -> None:
        nonlocal last
        now = perf_counter()
        times.append((step, now - last))
        last = now

    options = PassOptions(**request["options"])
    module = Parser(CONTEXT, request["kernel"]).parse_module()
    record("parse")
    for each in passes_of("lowering-pipeline", options):
        with blame(each):
            each.apply(CONTEXT, module)
        record(each.name)
    (kernel,) = kernels_of(module)
    check_architecture(kernel, Arch.parse(options.arch))
    source = None if 0 in kernel.grid_dims else print_kernel(kernel)
    kernel.replace_body("")
    header = located_text(kernel)
    record("print")
    return {"source": source, "header": header, "times": times}


COLLECTED = 1_000_000
"""The number of new objects from which on garbage is collected, as that of some 60 kernels. A
worker ends with its program, so nearly all of its garbage need not be collected at all."""

if __name__ == "__main__":
    gc.set_threshold(COLLECTED)
    lower({"kernel": WARM_UP, "options": {}})
    serve(lower)
