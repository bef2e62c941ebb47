"""Each machine has its instructions."""

import pytest
from xdsl.parser import Parser

from hidet.arch.chips import Arch
from hidet.context import make_context
from hidet.dialects.cuda import KernelOp
from hidet.errors import LegalityError
from hidet.legality.architecture import check_architecture
from hidet.lowering.cuda.instrument_memory import InstrumentMemoryPass

KERNEL = """
cuda.kernel @f(%x : memref<32xf32>, %p : i1, %n : i64) grid(1) block(128) {{
  %0 = arith.constant 0 : index
  %s = memref.alloca() : memref<32xf32, #cuda.space<shared>>
  %d = memref.alloca() : memref<4xf32, #cuda.space<local>>
  {op}
}}
"""
COPY = (
    "cuda.cp_async ca %x[%0] to %s[%0] width 1 "
    ": memref<32xf32> to memref<32xf32, #cuda.space<shared>>"
)
LOAD = (
    "cuda.ldmatrix %s[%0] to %d[%0] count 4 "
    ": memref<32xf32, #cuda.space<shared>> to memref<4xf32, #cuda.space<local>>"
)
PRODUCT = (
    'cuda.wgmma "m64n8k16_f16_f32" %n, %n, %d[%0] accumulate %p : memref<4xf32, #cuda.space<local>>'
)
LARGE = "%t = memref.alloca() : memref<256x128xf32, #cuda.space<shared>>"


def check(op, arch):
    """Check a kernel of one op for a machine."""
    (kernel,) = Parser(make_context(), KERNEL.format(op=op)).parse_module().ops
    assert isinstance(kernel, KernelOp)
    kernel.verify()
    check_architecture(kernel, Arch.parse(arch))


@pytest.mark.parametrize(
    ("op", "archs"),
    [
        pytest.param("", ["sm_75", "sm_90a", "sm_103a", "cpu"], id="nothing"),
        pytest.param(LARGE, ["sm_80", "sm_90a", "cpu"], id="shared_memory"),
        pytest.param(LOAD, ["sm_75", "sm_90a", "sm_120a", "cpu"], id="ldmatrix"),
        pytest.param(COPY, ["sm_80", "sm_86", "sm_90a", "cpu"], id="cp_async"),
        pytest.param(PRODUCT, ["sm_90a", "cpu"], id="wgmma"),
        pytest.param("cuda.fence_proxy_async", ["sm_90", "sm_90a", "sm_100a", "cpu"], id="fence"),
    ],
)
def test_machines_that_have_it(op, archs):
    for arch in archs:
        check(op, arch)


@pytest.mark.parametrize(
    ("op", "arch", "message"),
    [
        (COPY, "sm_75", "it needs sm_80 or later"),
        (PRODUCT, "sm_90", "it needs sm_90a"),
        (PRODUCT, "sm_100a", "cuda.wgmma does not exist on sm_100a"),
        ("cuda.tma_commit", "sm_80", "it needs sm_90 or later"),
        (LARGE, "sm_86", "131200 bytes of shared memory; a block has 101376 on sm_86"),
    ],
)
def test_machines_that_lack_it(op, arch, message):
    with pytest.raises(LegalityError) as caught:
        check(op, arch)
    assert message in str(caught.value)
    assert "in @f" in str(caught.value)


def test_checks_are_for_the_cpu():
    """A kernel that checks its accesses does not go to a GPU."""
    module = Parser(make_context(), KERNEL.format(op="")).parse_module()
    InstrumentMemoryPass().apply(make_context(), module)
    (kernel,) = module.ops
    assert isinstance(kernel, KernelOp)
    check_architecture(kernel, Arch.parse("cpu"))
    with pytest.raises(LegalityError, match="the checks of instrument-memory cannot run on sm_80"):
        check_architecture(kernel, Arch.parse("sm_80"))
