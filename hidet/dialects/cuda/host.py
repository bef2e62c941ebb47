"""Host ops: calls and launches of kernels, and the buffers that they work on."""

from abc import ABC

from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    IndexType,
    MemRefType,
    StringAttr,
    UnitAttr,
)
from xdsl.irdl import (
    ParsePropInAttrDict,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.attributes import BufferKind
from hidet.dialects.effects import AnyMemoryOp, PureOp
from hidet.dialects.fields import INT64, SEGMENTED, enum_attribute
from hidet.dialects.in_place import InPlaceOp


class KernelCall(InPlaceOp, ABC):
    """An op that runs a kernel, whose arguments are the operands followed by the results.

    `inits` lists the results that are updated in place, and whose initial contents are the last
    operands.
    """

    kernel = prop_def(FlatSymbolRefAttrConstr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kernel `(` $arguments `)` attr-dict `:` functional-type($arguments, $results_)"
    )


@irdl_op_definition
class LaunchOp(KernelCall, AnyMemoryOp):
    """`cuda.launch @f(%x, %w)`: runs a kernel over its grid.

    On tensors the launch returns what the kernel writes; in-place operands share the memory of
    their results. After `plan-memory` all arguments are operands: memrefs, constants (passed by
    value) and tensor maps. `extents` are the kernel's dynamic extents, those of the grid first:
    `cuda.launch @f(%x, %n) extents(%blocks)`. A `programmatic` launch may start before the launches
    that it depends on have finished, and waits for them itself (`cuda.grid_dependency_wait`).
    """

    name = "cuda.launch"

    arguments = var_operand_def()  # here again, as they come ahead of the extents
    extents = var_operand_def(IndexType)
    programmatic = opt_prop_def(UnitAttr)

    irdl_options = (*SEGMENTED, ParsePropInAttrDict())
    assembly_format = (
        "$kernel `(` $arguments `)` (`extents` `(` $extents^ `)`)? "
        "(`programmatic` $programmatic^)? attr-dict `:` functional-type($arguments, $results_)"
    )


@irdl_op_definition
class BufferOp(PureOp):
    """`cuda.buffer arena offset 4096 : memref<..>`: memory that the runtime provides.

    `arena` and `prepared` have a byte offset, `constant` has the name of a weight.
    """

    name = "cuda.buffer"

    kind = prop_def(enum_attribute("cuda.buffer_kind", BufferKind))
    result = result_def(MemRefType)
    offset = opt_prop_def(INT64)
    buffer_name = opt_prop_def(StringAttr)

    assembly_format = "$kind (`offset` $offset^)? ($buffer_name^)? attr-dict `:` type($result)"

    def verify_(self) -> None:
        """Check that the buffer has an offset or a name, as its kind requires."""
        named = self.kind.data is BufferKind.CONSTANT
        if named == (self.buffer_name is None) or named == (self.offset is not None):
            wanted = "a name" if named else "an offset"
            raise VerifyException(f"a buffer of kind {self.kind.data.value} takes {wanted}")
