"""The pass `pass-tensor-maps`: creates the tensor maps that launches pass."""

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import VerifyException

from hidet.analysis.kernels import kernels_of
from hidet.dialects.cuda import KernelOp, LaunchOp, TensorMapOp, TensorMapType
from hidet.dialects.cuda.marks import LAUNCH_ARGUMENTS, MAP
from hidet.dialects.walking import ops_of_class


class PassTensorMapsPass(ModulePass):
    """Create the tensor maps that kernels take, before each launch.

    Expects the output of `plan-memory`, and of `hoist-tensor-maps` for the kernels. A launch that
    passes a buffer for a tensor map, as those of script kernels do, passes a map of it instead.
    The arguments of all launches then are those of their kernels, so the attributes of
    `hoist-tensor-maps` are dropped.
    """

    name = "pass-tensor-maps"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run on all launches of a module."""
        kernels = {kernel.sym_name.data: kernel for kernel in kernels_of(op)}
        for each in ops_of_class(op, LaunchOp):
            if each.kernel.string_value() in kernels:
                _pass_maps(each, kernels[each.kernel.string_value()])
        for kernel in kernels.values():
            kernel.attributes.pop(LAUNCH_ARGUMENTS, None)
            for number in range(len(kernel.arguments)):
                kernel.set_argument_attribute(MAP, number, None)


def _pass_maps(launch: LaunchOp, kernel: KernelOp) -> None:
    """Replace a launch by one that passes what the kernel takes."""
    if launch.results_:
        raise VerifyException(
            f"{launch.kernel} is launched on tensors: plan-memory has not run, or it is neither in "
            "@prepare nor in @forward, the functions whose memory is planned"
        )
    builder = Builder(InsertPoint.before(launch))

    def passed(number: int, source: int) -> SSAValue:
        value, kind = launch.arguments[source], kernel.arguments[number].type
        if not isinstance(kind, TensorMapType) or not isinstance(value.type, MemRefType):
            return value
        new = TensorMapOp(value, kind)
        layout = kernel.argument_attribute(MAP, number)
        new.properties |= layout.data if isinstance(layout, DictionaryAttr) else {}
        new.location = launch.location
        new.result.name_hint = f"{value.name_hint}_map" if value.name_hint else None
        return builder.insert(new).result

    values = [passed(*numbers) for numbers in enumerate(kernel.launch_arguments)]
    if values != list(launch.arguments):
        new = LaunchOp(values, kernel=launch.kernel.string_value(), extents=launch.extents)
        new.location = launch.location
        Rewriter.replace_op(launch, new)
