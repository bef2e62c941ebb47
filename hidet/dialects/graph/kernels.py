"""`graph.call_kernel`: a call of a user-written kernel."""

from xdsl.irdl import irdl_op_definition, var_operand_def, var_result_def

from hidet.dialects.cuda.host import KernelCall
from hidet.dialects.effects import PureOp
from hidet.dialects.graph.base import TENSOR


@irdl_op_definition
class CallKernelOp(KernelCall, PureOp):
    """`graph.call_kernel @f(%x, %w)`: the tensors that a kernel of the module writes.

    The kernel's arguments may have other shapes than the tensors, with the same elements in order.
    A result that the kernel reads, or does not fully overwrite, is one of `inits`.
    """

    name = "graph.call_kernel"

    arguments = var_operand_def(TENSOR)
    results_ = var_result_def(TENSOR)
