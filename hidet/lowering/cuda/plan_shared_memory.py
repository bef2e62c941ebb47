"""The pass `plan-shared-memory`: allocates large shared arrays in dynamic shared memory."""

from xdsl.dialects import memref
from xdsl.rewriter import Rewriter

from hidet.arch.limits import STATIC_SHARED_BYTES
from hidet.dialects.cuda import DynamicSharedOp, KernelOp, Space, mark_unsigned, space_of
from hidet.dialects.shaped import bytes_of, nbytes_of
from hidet.dialects.walking import ops_of_class
from hidet.rewriting.kernel_pass import KernelPass


class PlanSharedMemoryPass(KernelPass):
    """Allocate shared arrays dynamically in kernels with more than 48 KiB, or with clusters.

        %a = memref.alloca() {alignment = 1024 : i64} : memref<4x128x64xf16, #cuda.space<shared>>
        // becomes
        %a = cuda.dynamic_shared offset 0 : memref<4x128x64xf16, #cuda.space<shared>>

    Arrays are allocated consecutively after those that the kernel has placed itself, each aligned.
    The total size is the kernel's `shared_bytes`, which launches pass.

    Expects: kernels at the `cuda` level with alignments on arrays (after `vectorize`). Leaves:
    kernels with up to 48 KiB of shared arrays as they are. Kernels with clusters are always
    planned: on the CPU the blocks of a cluster share one memory.
    """

    name = "plan-shared-memory"

    def run(self, kernel: KernelOp) -> None:
        """Plan the shared arrays of one kernel."""
        allocated = ops_of_class(kernel.body, memref.AllocaOp)
        arrays = [op for op in allocated if space_of(op.memref.type) is Space.SHARED]
        size = sum(nbytes_of(array.memref) for array in arrays)
        if kernel.cluster == (1, 1, 1) and size <= STATIC_SHARED_BYTES:
            return
        end = kernel.shared_bytes
        for array in arrays:
            alignment = bytes_of(array.memref.type.element_type)
            if array.alignment is not None:
                alignment = max(alignment, array.alignment.value.data)
            start = -(-end // alignment) * alignment
            end = start + nbytes_of(array.memref)
            placed = DynamicSharedOp(start, array.memref.type)
            placed.location = array.location
            placed.result.name_hint = array.memref.name_hint
            mark_unsigned(placed.result, like=array.memref)
            Rewriter.replace_op(array, placed)
        kernel.shared_bytes = end
