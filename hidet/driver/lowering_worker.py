"""A worker that lowers kernels of programs, and candidates of the tuner.

`python -m hidet.driver.lowering_worker` does not import torch.
"""

import gc
from time import perf_counter

from hidet.loading import loading

with loading():
    from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
    from xdsl.parser import Parser

    from hidet.analysis.kernels import kernels_of
    from hidet.arch.chips import Arch
    from hidet.backend.printer import print_kernels
    from hidet.context import make_context
    from hidet.dialects.compute import FusionOp
    from hidet.dialects.cuda import LaunchOp
    from hidet.dialects.walking import ops_of_class
    from hidet.driver.extract import extract_plan
    from hidet.driver.packing import packed, unpacked
    from hidet.legality.architecture import check_architecture
    from hidet.lowering.blame import blame
    from hidet.lowering.pipelines import PassOptions, passes_of, run_pipeline
    from hidet.tuning.workers import Message, serve

CONTEXT = make_context()

WARM_UP = "cuda.kernel @f() grid(1) block(32) {}"
"""The kernel that is lowered before the first request, to load dialects and passes."""


def lower(request: Message) -> Message:
    """Lower the `kernel` of a request, or its `program`.

    Raises:
        HidetError: it cannot be lowered, or not for this architecture.
    """
    return (lower_kernel if "kernel" in request else lower_candidate)(request)


def lower_kernel(request: Message) -> Message:
    """Lower the packed `kernel` of a request, after `schedule-pipeline`, with `options` of passes.

    The reply has the `source`, None for an empty grid, the lowered kernel without its body, packed,
    as `header`, and the name and seconds of each step as `times`.
    """
    times: list[tuple[str, float]] = []
    last = perf_counter()

    def record(step: str) -> None:
        nonlocal last
        now = perf_counter()
        times.append((step, now - last))
        last = now

    options = PassOptions(**request["options"])
    module = ModuleOp([unpacked(CONTEXT, request["kernel"])])
    record("unpack")
    for each in passes_of("lowering-pipeline", options):
        with blame(each):
            each.apply(CONTEXT, module)
        record(each.name)
    (kernel,) = kernels_of(module)
    check_architecture(kernel, Arch.parse(options.arch))
    source = None if 0 in kernel.grid_dims else print_kernels(kernel)
    kernel.replace_body("")
    header = packed(kernel)
    record("print")
    return {"source": source, "header": header, "times": times}


def lower_candidate(request: Message) -> Message:
    """Lower the `program` of a request, of one fusion with a `config`, for an `arch`.

    Its `number` makes the names of kernels unique. The reply has the `source` of the kernels, and
    the `plan` without the keys of binaries.
    """
    module = Parser(CONTEXT, request["program"]).parse_module()
    config = Parser(CONTEXT, request["config"]).parse_attribute()
    assert isinstance(config, DictionaryAttr)
    for op in ops_of_class(module, FusionOp):
        op.config = config
    arch = Arch.parse(request["arch"])
    run_pipeline(module, CONTEXT, PassOptions(str(arch)), pipeline="kernels-pipeline")
    kernels, suffix = kernels_of(module), f"_{request['number']}"
    for op in ops_of_class(module, LaunchOp):
        op.kernel = SymbolRefAttr(op.kernel.string_value() + suffix)
    for kernel in kernels:
        kernel.sym_name = StringAttr(kernel.sym_name.data + suffix)
        check_architecture(kernel, arch)
    source = print_kernels(*kernels)
    for kernel in kernels:
        kernel.replace_body("")
    return {"source": source, "plan": extract_plan(module, target=arch.name).to_json()}


COLLECTED = 1_000_000
"""The number of new objects from which on garbage is collected, as that of some 60 kernels. A
worker ends with its program, so nearly all of its garbage need not be collected at all."""

if __name__ == "__main__":
    gc.set_threshold(COLLECTED)
    with loading():
        for warm_up in Parser(CONTEXT, WARM_UP).parse_module().ops:
            lower_kernel({"kernel": packed(warm_up), "options": {}})
    serve(lower)
