"""The printer knows what it prints: its tables are tested, its errors clear, its text compiles."""

import re
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from hidet.backend.printer import print_kernels
from hidet.backend.printer.tables import EXPRESSIONS, STATEMENTS
from hidet.backend.toolchains import Gxx, Nvcc
from hidet.context import make_context
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.cuda.names import NameScopes, identifier_from, is_identifier
from hidet.errors import (
    CompilerNotFoundError,
    LegalityError,
    UnsupportedDtypeError,
    UnsupportedOperatorError,
)
from hidet.testing.filecheck import run_passes

LIT_TESTS = Path(__file__).parents[3] / "lit_tests"
PRINTED = sorted((LIT_TESTS / "backend" / "printer").glob("*.mlir"))
FORMED = LIT_TESTS / "lowering" / "cuda" / "form_expressions.mlir"
CUDA = ("-t", "cuda")


@pytest.mark.parametrize("name", sorted({*EXPRESSIONS, *STATEMENTS}))
def test_every_entry_of_the_tables_has_a_lit_test(name):
    is_used = any(re.search(rf"\b{re.escape(name)}\b", path.read_text()) for path in PRINTED)
    assert is_used, f"print {name} in a file of lit_tests/backend/printer/"


# Errors.


def kernel(arguments, body, attributes="attributes {cuda.formed}"):
    return f"cuda.kernel @f({arguments}) grid(1) block(1) {attributes} {{\n{body}\n}}"


LOOP = "%c = arith.constant 1 : index\n%r = scf.for %i = %c to %c step %c"


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        (kernel("", "", ""), LegalityError, "hint: run form-expressions last"),
        (kernel("%float : f32", ""), LegalityError, "the name 'float', which is taken or reserved"),
        (kernel("%a : f32", "%a_1 = math.exp %a : f32"), LegalityError, "'a', which is taken"),
        (kernel("%0 : f32", ""), LegalityError, "has no name"),
        (
            kernel("%a : f32", "%b = math.exp %v : f32\n%v = math.exp %a : f32"),
            VerifyException,
            "%v, is used before it is defined",
        ),
        (
            kernel("%a : f32", "%0 = math.exp %a : f32\n%v = arith.addf %0, %0 : f32"),
            LegalityError,
            "a value of math.exp has no name and two uses",
        ),
        (
            kernel("", '"test.op"() : () -> () loc("model.py":7:1)'),
            UnsupportedOperatorError,
            "does not know test.op with 0 results\n  at: model.py:7",
        ),
        (
            kernel("%a : i32", "%v = math.ctpop %a : i32"),
            UnsupportedOperatorError,
            "does not know math.ctpop with 1 results",
        ),
        (
            kernel("%a : f16", '%v = arith.addf %a, %a : f16 loc("model.py":8:1)'),
            UnsupportedDtypeError,
            "no arith.addf for f16 here\n  at: model.py:8",
        ),
        (
            kernel("%a : i1", "%v = arith.addi %a, %a : i1"),
            UnsupportedDtypeError,
            "no arith.addi for i1",
        ),
        (kernel("%a : i128", ""), UnsupportedDtypeError, "no type for i128"),
        (
            kernel("%a : i8, %b : i32", "%v = cuda.shfl xor %a, %b : i8"),
            UnsupportedDtypeError,
            "a shuffle moves 2, 4 or 8 bytes, not i8",
        ),
        (
            kernel("%x : memref<f32>", "%v = memref.load %x[] : memref<f32>"),
            LegalityError,
            "hint: run flatten-memrefs",
        ),
        (
            kernel("", "%v = memref.alloca() : memref<0xf32, #cuda.space<local>>"),
            LegalityError,
            "no array of 0 elements",
        ),
        (
            kernel("", "%v = memref.alloca() : memref<4xf32>"),
            LegalityError,
            "allocates plain shared and local arrays, not memref<4xf32>",
        ),
        (
            kernel("%a : f32", f"{LOOP} iter_args(%b = %a) -> (f32) {{ scf.yield %b : f32 }}"),
            LegalityError,
            "hint: run demote-scf-values",
        ),
        (
            kernel(
                "%x : memref<1xf32>, %a : f32",
                "%0 = arith.constant 0 : index\n%1 = math.exp %a : f32\n"
                "memref.store %1, %x[%0] {cuda.update = 0 : i64} : memref<1xf32>",
            ),
            LegalityError,
            "cuda.update marks a store of math.exp",
        ),
        (
            kernel(
                "%x : memref<1xf32>, %a : f32",
                "%0 = arith.constant 0 : index\n"
                "memref.store %a, %x[%0] {cuda.update = 0 : i64} : memref<1xf32>",
            ),
            LegalityError,
            "cuda.update marks a store of an argument",
        ),
        (
            kernel(
                "%x : memref<1xf32>, %a : f32",
                "%0 = arith.constant 0 : index\n%1 = arith.addf %a, %a : f32\n"
                "memref.store %1, %x[%0] {cuda.update = 2 : i64} : memref<1xf32>",
            ),
            LegalityError,
            "cuda.update is 2 : i64, but arith.addf has the operands 0 and 1",
        ),
    ],
)
def test_errors(program, error, message):
    with pytest.raises(error) as raised:
        run_passes(program, arguments=CUDA)
    assert message in str(raised.value)


def test_use_before_declaration():
    """The printer says so itself, where nobody has verified the program."""
    text = kernel("%a : f32", "%b = math.exp %v : f32\n%v = math.exp %a : f32")
    (op,) = Parser(make_context(), text).parse_module().ops
    assert isinstance(op, KernelOp)
    with pytest.raises(LegalityError, match="'v' is used before its declaration"):
        print_kernels(op)


# Text.


@pytest.mark.parametrize("path", [*PRINTED, FORMED], ids=lambda path: path.stem)
def test_text_of_the_ir_gives_the_same_cuda(path):
    """What `form-expressions` decides survives the custom and the generic form of the IR."""
    text = path.read_text()
    formed = run_passes(text, "form-expressions") if path == FORMED else text
    wanted = run_passes(formed, arguments=CUDA)
    for form in ([], ["--print-op-generic"]):
        if "scf.while" in text and not form:
            continue  # xDSL writes the location of scf.while where its own parser wants a region
        again = run_passes(formed, arguments=["--print-debuginfo", *form])
        assert run_passes(again, arguments=CUDA) == wanted


def test_forming_expressions_again_changes_nothing():
    once = run_passes(FORMED.read_text(), "form-expressions")
    assert run_passes(once, "form-expressions") == once


def test_a_file_of_one_kernel():
    program = kernel("%x : memref<4xf32>", "%t = cuda.thread_id x")
    module = Parser(make_context(), program).parse_module()
    assert isinstance(module, ModuleOp)
    (only,) = module.ops
    assert isinstance(only, KernelOp)
    assert print_kernels(only) == run_passes(program, arguments=CUDA)
    assert print_kernels(only).startswith('#include "hidet.h"\n\n// f\nextern "C" __global__ void')


def all_kernels(toolchain):
    """The CUDA of all lit tests that a compiler takes, as one file."""
    refused = {
        "checks": toolchain != Gxx(strict=True),
        "cpu_functions": toolchain.target != "cpu",
        "hopper": toolchain.target == "sm_80",
    }
    paths = [path for path in PRINTED if not refused.get(path.stem)]
    texts = [run_passes(path.read_text(), arguments=CUDA) for path in paths]
    texts.append(run_passes(FORMED.read_text(), "form-expressions", CUDA))
    include = '#include "hidet.h"\n'
    return include + "".join(text.removeprefix(include) for text in texts)


@pytest.mark.parametrize(
    "toolchain",
    [
        pytest.param(Gxx(), marks=pytest.mark.slow),
        Gxx(strict=True),
        Nvcc("sm_80"),
        Nvcc("sm_90a"),
    ],
    ids=str,
)
def test_everything_that_is_printed_compiles(toolchain, tmp_path):
    try:
        assert toolchain.command
    except CompilerNotFoundError as error:
        pytest.skip(str(error))
    toolchain.compile(all_kernels(toolchain), tmp_path / "kernels")
    assert (tmp_path / "kernels").stat().st_size > 0


# Names.


@pytest.mark.parametrize(
    ("hint", "identifier"),
    [
        ("acc", "acc"),
        ("acc1", "acc1"),
        ("acc_1", "acc"),
        ("float", "float_"),
        ("threadIdx", "threadIdx_"),
        ("a.b-c", "a_b_c"),
        ("__x", "x"),
        ("a__b", "a_b"),
        ("$", None),
        ("_", None),
    ],
)
def test_identifier_from_a_hint(hint, identifier):
    assert identifier_from(hint) == identifier
    assert identifier is None or is_identifier(identifier)


def test_names_are_unique_where_they_are_visible():
    scopes = NameScopes()
    assert [scopes.fresh("v") for _ in range(3)] == ["v", "v1", "v2"]
    assert scopes.fresh("v4") == "v4"
    with scopes.scope():
        assert [scopes.fresh("v") for _ in range(2)] == ["v3", "v5"]
        assert scopes.fresh("i", "j") == "i"
        assert scopes.fresh("i", "j") == "j"
        assert scopes.fresh("i", "j") == "j1"
    assert scopes.fresh("i") == "i"
    assert scopes.fresh("x2y") == "x2y"
    assert scopes.fresh("x2y") == "x2y1"
    assert scopes.fresh("v") == "v3"
    assert not scopes.claim("v3")
