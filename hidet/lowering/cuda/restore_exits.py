"""The pass `restore-exits`: removes the flags of early exits, in favor of `cuda.leave`."""

from xdsl.dialects import memref, scf
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from hidet.dialects.cuda import KernelOp, LeaveOp, is_variable
from hidet.dialects.cuda.marks import GUARD
from hidet.dialects.walking import ops_in, ops_of_class
from hidet.rewriting.dead_code import drop_dead_code
from hidet.rewriting.inlining import inline_region
from hidet.rewriting.kernel_pass import KernelPass


class RestoreExitsPass(KernelPass):
    """Remove the flags of early exits, in favor of `cuda.leave`.

    Scripts express an exit by a flag, which guards what follows, so that all passes see structured
    control flow, and by `cuda.leave`. Guards that `cuda.leave` skips are marked `cuda.guard`; they
    are replaced by their `then`:

        scf.for ... {
          scf.if %flag {  // cuda.guard
            scf.if %c { store %false, %flag  cuda.leave break } else { A }
          }
        }
        // becomes
        scf.for ... { scf.if %c { cuda.leave break }  A }

    Expects: kernels at the `cuda` level with variables in place of results. Leaves: `cuda.leave` as
    the only exit, which only `form-expressions` and the printer support.
    """

    name = "restore-exits"

    def run(self, kernel: KernelOp) -> None:
        """Restore the exits of one kernel."""
        if not ops_of_class(kernel.body, LeaveOp):
            return
        for op in ops_in(kernel.body):
            if GUARD in op.attributes:
                assert isinstance(op, scf.IfOp)
                inline_region(op, op.true_region)
        for op in ops_in(kernel.body, backwards=True, inner_first=True):
            if isinstance(op, LeaveOp):
                _drop_unreachable(op)
            elif isinstance(op, scf.IfOp):
                _flatten(op)
        drop_dead_code(kernel)
        _drop_unread_variables(kernel)


def _drop_unreachable(leave: LeaveOp) -> None:
    """Erase what follows an exit whose condition has been folded."""
    assert leave.parent is not None
    ops = list(leave.parent.ops)
    for op in reversed(ops[ops.index(leave) + 1 :]):
        if not op.has_trait(IsTerminator):
            Rewriter.erase_op(op)


def _flatten(op: scf.IfOp) -> None:
    """Move the `else` of a branch whose `then` exits to the code after it."""
    end = op.true_region.block.last_op
    if op.results or not op.false_region.blocks or end is None:
        return
    otherwise = op.false_region.block
    if isinstance(end.prev_op, LeaveOp) and otherwise.last_op is not None:
        otherwise.erase_op(otherwise.last_op)
        Rewriter.inline_block(otherwise, InsertPoint.after(op))


def _drop_unread_variables(kernel: KernelOp) -> None:
    for op in ops_of_class(kernel.body, memref.AllocaOp):
        if is_variable(op.memref):
            users = [use.operation for use in op.memref.uses]
            if all(isinstance(user, memref.StoreOp) for user in users):
                for each in (*users, op):
                    Rewriter.erase_op(each)
