"""A worker that lowers candidates of the tuner: `python -m hidet.driver.lowering_worker`.

It does not import torch.
"""

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.parser import Parser

from hidet.analysis.kernels import kernels_of
from hidet.arch.chips import Arch
from hidet.backend.printer import print_kernels
from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.dialects.cuda import LaunchOp
from hidet.driver.extract import extract_plan
from hidet.legality.architecture import check_architecture
from hidet.lowering.pipelines import PassOptions, run_pipeline
from hidet.tuning.workers import Message, serve


def lower(request: Message) -> Message:
    """Lower a program of one fusion.

    Args:
        request: the text of the `program`, the `config` of its fusion, the `arch`, and a `number`
            that makes the names of its kernels unique.

    Returns:
        The `source` of its kernels, and its `plan`, without the keys of binaries.

    Raises:
        HidetError: it cannot be lowered, or not for this architecture.
    """
    context = make_context()
    module = Parser(context, request["program"]).parse_module()
    config = Parser(context, request["config"]).parse_attribute()
    assert isinstance(config, DictionaryAttr)
    for op in module.walk():
        if isinstance(op, FusionOp):
            op.config = config
    arch = Arch.parse(request["arch"])
    run_pipeline(module, context, PassOptions(str(arch)), pipeline="kernels-pipeline")
    _rename(module, request["number"])
    kernels = kernels_of(module)
    for kernel in kernels:
        check_architecture(kernel, arch)
    source = print_kernels(kernels)
    for kernel in kernels:
        kernel.replace_body("")
    return {"source": source, "plan": extract_plan(module, target=arch.name).to_json()}


def _rename(module: ModuleOp, number: int) -> None:
    """Make the names of kernels unique among candidates."""
    for op in module.walk():
        if isinstance(op, LaunchOp):
            op.kernel = SymbolRefAttr(f"{op.kernel.string_value()}_{number}")
    for kernel in kernels_of(module):
        kernel.sym_name = StringAttr(f"{kernel.sym_name.data}_{number}")


if __name__ == "__main__":
    serve(lower)
