"""Operations say what they read and write, value by value."""

import pytest
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser
from xdsl.traits import MemoryEffect

from hidet.analysis.memory import MemoryClass, accesses_of, writes_of
from hidet.backend.printer.cuda import EXPRESSIONS, STATEMENTS
from hidet.dialects.compute import Compute
from hidet.dialects.cuda import Cuda, KernelOp
from hidet.dialects.cuda.table_ops import InstructionOp
from hidet.dialects.task import Task

KERNEL = """
!map = !cuda.tensor_map<tensor<64xf32>, box [64]>
cuda.kernel @f(%x : memref<64xf32>, %map : !map, %i : index, %n : i32) grid(1) block(32)
{{
  %s = memref.alloca() : memref<8x64xf32, #cuda.space<shared>>
  %v = memref.alloca() : memref<8xf32, #cuda.space<local>>
  %b = memref.alloca() : memref<1xi64, #cuda.space<shared>>
  %a = arith.constant 1.0 : f32
  {op}
}}
"""

ACCESSES = {
    "%r = memref.load %x[%i] : memref<64xf32>": ("x", ""),
    "memref.store %a, %x[%i] : memref<64xf32>": ("", "x"),
    "%r = arith.addf %a, %a : f32": ("", ""),
    "%r = cuda.round_tf32 %a": ("", ""),
    "%r = cuda.shfl xor %a, %n : f32": ("", ""),
    "cuda.copy_vector %x[%i] to %v[%i] width 4 : memref<64xf32> to "
    "memref<8xf32, #cuda.space<local>>": ("x", "v"),
    "cuda.cp_async cg %x[%i] to %s[%i, %i] width 4 : memref<64xf32> to "
    "memref<8x64xf32, #cuda.space<shared>>": ("x", "s"),
    "cuda.cp_async_commit": ("", ""),
    "cuda.wgmma_fence_operand %v[%i] count 8 : memref<8xf32, #cuda.space<local>>": ("v", "v"),
    "%r = cuda.matrix_descriptor %s[%i, %i] leading 16 stride 1024 swizzle 128 : "
    "memref<8x64xf32, #cuda.space<shared>>": ("", ""),
    "cuda.tma_store %s[%i, %i] to %map(%n) : memref<8x64xf32, #cuda.space<shared>>, !map": (
        "s",
        "map",
    ),
    "%r = cuda.checked_index %i below 5 'a'": ("", ""),
    # Memory that nobody can name.
    "cuda.sync_threads": None,
    "cuda.cp_async_wait 0": None,
    "cuda.fence_gpu": None,
    "%r = cuda.atomic add %a, %x[%i] : memref<64xf32>": None,
    "%r = cuda.ordered_load acquire gpu %x[%i] : memref<64xf32>": None,
}


def operation(text):
    """Give the operation of a text, in a kernel."""
    context = Context()
    for dialect in (Builtin, arith.Arith, memref.MemRef, Compute, Cuda, Task):
        context.load_dialect(dialect)
    module = Parser(context, KERNEL.format(op=text.replace("'", '"'))).parse_module()
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    return kernel.body.block.last_op


@pytest.mark.parametrize(("text", "expected"), ACCESSES.items(), ids=ACCESSES)
def test_accesses(text, expected):
    """What is accessed, by name; None where it may be anything."""
    found = accesses_of(operation(text))
    names = found and tuple(" ".join(value.name_hint for value in each) for each in found)
    assert names == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cuda.sync_threads", {MemoryClass.OTHER_THREADS, MemoryClass.CONVERGENT}),
        ("cuda.cp_async_wait 0", {MemoryClass.OTHER_THREADS}),
        ("%r = cuda.shfl xor %a, %n : f32", {MemoryClass.CONVERGENT}),
        ("memref.store %a, %x[%i] : memref<64xf32>", {MemoryClass.GLOBAL}),
        ("cuda.mbarrier_arrive %b[%i] : memref<1xi64, #cuda.space<shared>>", {"b", "others"}),
    ],
)
def test_writes_in_order(text, expected):
    """What must stay ahead of a write: arrays of the kernel one by one, the rest together."""
    found = writes_of(operation(text))
    names = {each if isinstance(each, MemoryClass) else each.name_hint for each in found}
    assert names == {MemoryClass.OTHER_THREADS if each == "others" else each for each in expected}


@pytest.mark.parametrize(
    "op", [*Cuda.operations, *Compute.operations, *Task.operations], ids=lambda op: op.name
)
def test_every_operation_says_its_effects(op):
    """No operation is unknown to passes, but for kernels, which are no statements."""
    traits = op.get_irdl_definition().traits.traits
    assert op is KernelOp or any(isinstance(trait, MemoryEffect) for trait in traits)


@pytest.mark.parametrize("op", [op for op in Cuda.operations if issubclass(op, InstructionOp)])
def test_every_instruction_is_printed(op):
    """With a result it is an expression, without one a statement."""
    assert (op in EXPRESSIONS) == bool(op.get_irdl_definition().results)
    assert (op in EXPRESSIONS) != (op in STATEMENTS)
