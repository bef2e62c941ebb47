"""The pass `hoist-tensor-maps`: makes the tensor maps in kernels arguments."""

from itertools import count

from typing_extensions import override
from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import BlockArgument
from xdsl.rewriter import Rewriter

from hidet.dialects.cuda import KernelOp, TensorMapOp
from hidet.dialects.cuda.marks import MAP
from hidet.dialects.locations import source_line
from hidet.dialects.walking import ops_of_class, values_in
from hidet.errors import LegalityError
from hidet.rewriting.kernel_pass import KernelPass


class HoistTensorMapsPass(KernelPass):
    """Turn tensor maps that kernels make into arguments, which `pass-tensor-maps` passes.

    A map that a kernel makes of an argument,

        %m = cuda.tensor_map %x : memref<128xf16> -> !cuda.tensor_map<tensor<8x16xf16>, box [8, 16]>

    becomes an argument, shared by equal maps; arguments without other uses are dropped. A new
    argument has the attributes of the old one, and `cuda.map` with the offset and the strides of
    the map. The kernel's `cuda.launch_arguments` says which argument of a launch each argument is
    made of.
    """

    name = "hoist-tensor-maps"

    @override
    def run(self, kernel: KernelOp) -> None:
        numbers = list(kernel.launch_arguments)
        sources = _hoist_maps(kernel)
        if not sources:
            return
        numbers += [numbers[source] for source in sources]
        for source in sorted(set(sources), reverse=True):
            if kernel.arguments[source].first_use is None:
                kernel.drop_argument(source)
                del numbers[source]
        kernel.launch_arguments = numbers


def _hoist_maps(kernel: KernelOp) -> list[int]:
    """Make the tensor maps of a kernel its last arguments; return the number of each one's buffer.

    Raises:
        LegalityError: a map is made of something other than an argument.
    """
    names = {value.name_hint for value in values_in(kernel)}
    hoisted: dict[object, BlockArgument] = {}
    sources: list[int] = []
    for op in ops_of_class(kernel.body, TensorMapOp):
        buffer = op.buffer
        if not isinstance(buffer, BlockArgument) or buffer.block is not kernel.body.block:
            raise LegalityError(
                "a tensor map is made of something else than an argument of the kernel",
                where=source_line(op),
            )
        key = (buffer, op.first, op.steps, op.kind)
        if key not in hoisted:
            own = (buffer.name_hint or "tensor").rstrip("_")  # C++ reserves double underscores
            wanted = (f"{own}_map{number or ''}" for number in count())
            name = next(name for name in wanted if name not in names)
            names.add(name)
            hoisted[key] = kernel.add_argument(op.kind, name, like=buffer.index)
            if op.properties:
                layout = DictionaryAttr(op.properties)
                kernel.set_argument_attribute(MAP, hoisted[key].index, layout)
            sources.append(buffer.index)
        op.result.replace_all_uses_with(hoisted[key])
        Rewriter.erase_op(op)
    return sources
