"""`graph.call_kernel`: a kernel that somebody has written, among the operators of a program."""

from xdsl.irdl import irdl_op_definition, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from hidet.dialects.graph.base import TENSOR
from hidet.dialects.kernel_call import KernelCall


@irdl_op_definition
class CallKernelOp(KernelCall):
    """`graph.call_kernel @f(%x, %w)`: the tensors that a kernel of the module writes.

    The kernel's arguments may be shaped otherwise than the tensors: it is the elements that count,
    in order. A result that the kernel reads, or does not write as a whole, is one of `inits`.
    """

    name = "graph.call_kernel"

    arguments = var_operand_def(TENSOR)
    results_ = var_result_def(TENSOR)

    traits = traits_def(Pure())
