"""The operation `cuda.leave`: a way out of a loop or of the kernel, as C++ has it."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.irdl import irdl_op_definition, prop_def, traits_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.cuda.attributes import LeaveKind, LeaveKindAttr
from hidet.dialects.effects import MachineEffect
from hidet.dialects.fields import FieldsOp
from hidet.dialects.walking import parents_of


@irdl_op_definition
class LeaveOp(FieldsOp):
    """`cuda.leave break` leaves the loop around it, `continue` its iteration, `return` the kernel.

    Nothing after it is executed, which the analyses of other passes do not know: it comes from
    `restore-exits`, after which there is only `form-expressions`.
    """

    name = "cuda.leave"

    kind = prop_def(LeaveKindAttr)

    assembly_format = "$kind attr-dict"
    traits = traits_def(MachineEffect())

    def verify_(self) -> None:
        """Check that there is a loop to leave."""
        if self.kind.data is LeaveKind.RETURN:
            return
        if not any(isinstance(parent, scf.ForOp | scf.WhileOp) for parent in parents_of(self)):
            raise VerifyException(f"no loop around that '{self.kind.data.value}' could leave")
