"""`verify-level` on programs that no text can show: the parser or xDSL would refuse them first."""

import pytest
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from hidet.context import make_context
from hidet.errors import LegalityError, OptionError
from hidet.lowering.pipelines import LEVEL_AFTER
from hidet.lowering.verify_level import FIRST_PASS, VerifyLevelPass


def parse(text: str) -> ModuleOp:
    return Parser(make_context(), text).parse_module()


def verify(module: ModuleOp, level="cuda", after=None):
    VerifyLevelPass(level, after).apply(make_context(), module)


def find(module: ModuleOp, op_class):
    return [op for op in module.walk() if isinstance(op, op_class)]


BRANCH = """
cuda.kernel @k(%c : i1, %x : memref<4xindex>) grid(1) block(32) {
  %zero = arith.constant 0 : index
  scf.if %c {
    %inner = cuda.block_id x
    memref.store %inner, %x[%zero] : memref<4xindex>
  } else {
    memref.store %zero, %x[%zero] : memref<4xindex>
  }
  memref.store %zero, %x[%zero] : memref<4xindex>
}
"""


@pytest.mark.parametrize("store", [1, 2])
def test_dominance_of_inner_values(store):
    """A value of one arm is not visible in the other one, nor after the branch."""
    module = parse(BRANCH)
    verify(module)
    stores = find(module, memref.StoreOp)
    stores[store].operands[0] = stores[0].operands[0]
    with pytest.raises(LegalityError, match="operand 0, %inner, is used before it is defined"):
        verify(module)


def test_dominance_after_a_move():
    """xDSL verifies a module with an op moved before its operand; this pass does not."""
    module = parse(BRANCH)
    constant = find(module, arith.ConstantOp)[0]
    block = constant.parent
    assert block is not None
    constant.detach()
    block.add_op(constant)
    module.verify()
    with pytest.raises(LegalityError, match="operand 2, %zero, is used before it is defined"):
        verify(module)


def test_rank_of_an_access():
    """The number of indices is checked before xDSL's verifier, which says nothing of the place."""
    module = parse(BRANCH)
    store = find(module, memref.StoreOp)[1]
    store.operands = [*store.operands, store.operands[0]]
    with pytest.raises(LegalityError) as caught:
        verify(module)
    assert caught.value.what == "2 indices for memref<4xindex>"
    assert caught.value.where == "memref.store in @k"


def test_own_verifiers_run_first():
    """What an op refuses itself comes out as xDSL raises it."""
    module = parse(BRANCH)
    find(module, scf.IfOp)[0].operands[0] = find(module, arith.ConstantOp)[0].result
    with pytest.raises(VerifyException):
        verify(module)


def test_source_line():
    """The error names the line that the op came from, or that of an op around it."""
    module = parse(
        "cuda.kernel @k() grid(1) block(32) { %g = compute.sink (%v : f32) {} : tensor<f32> }"
    )
    (kernel,) = module.ops
    kernel.location = FileLineColLoc(StringAttr("model.py"), IntAttr(12), IntAttr(3))
    with pytest.raises(LegalityError) as caught:
        verify(module)
    assert caught.value.where == "compute.sink in @k, from model.py:12"


def test_unknown_pass():
    """`after` is a pass of the pipeline."""
    with pytest.raises(OptionError, match="the unknown pass 'dinner'"):
        verify(ModuleOp([]), "task", "dinner")


@pytest.mark.parametrize("name", sorted({*LEVEL_AFTER, *filter(None, FIRST_PASS.values())}))
def test_passes_of_levels_are_in_the_pipeline(name):
    """The tables that name passes name existing ones."""
    verify(ModuleOp([]), LEVEL_AFTER.get(name, "cuda"), name)
