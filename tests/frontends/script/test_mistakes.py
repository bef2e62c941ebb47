"""The catalogue of mistakes: each shows the user's line, with a caret under what is wrong."""

import ast
import importlib.util
import textwrap
from pathlib import Path

import pytest

import hidet
import hidet.frontends.script as frontend
from hidet import option
from hidet.errors import ScriptError

PACKAGE = Path(frontend.__file__).parent

HEADER = """
import math as python_math
import numpy as np
import torch
import hidet
from hidet.lang import *
from hidet.lang.cuda import *

def logarithm(value):
    return python_math.log(value)

def pick(value):
    return value if value > 0 else -value

@hidet.script
def relu(x: f32) -> f32:
    return max(x, 0.0)

@hidet.script
def first(t: f32[8]):
    return t[0]

@hidet.script
def second(p: ~f32):
    return p[1]

@hidet.script
def pairs(pair: meta.types([f32, i32])):
    return pair[0] * pair[1]

@hidet.script
def half_returned(x: f32):
    if x > 0:
        return x

@hidet.script
def nothing_returned(x: f32) -> f32:
    y = 2 * x

@hidet.script
def sometimes(x: f32):
    for k in range(4):
        if x > k:
            return x

@hidet.script
def some_tensor(t: f32[8]):
    for k in range(4):
        if t[k] > 0:
            return t
    return t

@hidet.script
def endless(x: f32):
    return endless(x)

@hidet.script
def internal_with_grid(x: f32):
    attrs.func_kind = "cuda_internal"
    attrs.cuda.min_blocks = 2
    return x

@hidet.script
def internal_of_cpu(x: f32):
    attrs.func_kind = "cpu_internal"
    return x

with hidet.script_module() as others:
    @hidet.script
    def other(y: f32[8]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 8
"""

KERNEL = """
with hidet.script_module() as module:
    @hidet.script
    def kernel(x: f32[8, 4], y: f32[8], n: i32, p: ~f32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 8
        i = threadIdx.x
"""


def read_bodies():
    """Return the mistakes inside of a kernel: message, caret, body.

    A mistake of the file is a line `# message | what the caret stands under`, then lines of a
    kernel. Parts of a message on both sides of ` ... ` are looked for in this order.
    """
    text = Path(__file__).with_name("mistakes.txt").read_text()
    for block in text.split("# ")[1:]:
        head, _, body = block.partition("\n")
        message, _, caret = head.partition(" | ")
        yield message, caret, HEADER + KERNEL + textwrap.indent(body, " " * 8)


def whole(message, caret, text):
    """Return a mistake outside of a kernel's body."""
    return message, caret, HEADER + textwrap.dedent(text)


WHOLE = [
    whole(
        "the parameter 'x' of a kernel has no type",
        "x",
        """
        with hidet.script_module():
            @hidet.script
            def kernel(x):
                attrs.cuda.grid_dim = 1
        """,
    ),
    whole(
        "the layout spatial(32) distributes elements over threads, but 'x' is in global memory",
        "x",
        """
        with hidet.script_module():
            @hidet.script
            def kernel(x: TensorType(f32, layout=local_layout(32))):
                attrs.cuda.grid_dim = 1
        """,
    ),
    whole(
        "the parameter 'v' of 'kernel' is f32x4, and got a value of type f32",
        "kernel(x)",
        """
        with hidet.script_module():
            @hidet.script
            def kernel(v: f32x4):
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 1

            @hidet.script
            def launch(x: f32):
                attrs.func_kind = "public"
                kernel(x)
        """,
    ),
    whole(
        "3 is no scalar type",
        "x",
        """
        with hidet.script_module():
            @hidet.script
            def kernel(x: 3):
                attrs.cuda.grid_dim = 1
        """,
    ),
    whole(
        "a kernel takes plain parameters only",
        "3",
        """
        with hidet.script_module():
            @hidet.script
            def kernel(x: i32 = 3):
                attrs.cuda.grid_dim = 1
        """,
    ),
    whole(
        "an annotation of 'kernel' cannot be evaluated: name 'size'",
        "def",
        """
        with hidet.script_module():
            @hidet.script
            def kernel(x: "f32[size]"):
                attrs.cuda.grid_dim = 1
        """,
    ),
    whole(
        "the kernel 'kernel' returns the int 3",
        "def",
        """
        with hidet.script_module():
            @hidet.script
            def kernel():
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 1
                return 3
        """,
    ),
    whole(
        "the kernel 'kernel' has no block",
        "def",
        """
        with hidet.script_module():
            @hidet.script
            def kernel():
                attrs.cuda.grid_dim = 1
        """,
    ),
    whole(
        "blockDim is not known yet",
        "blockDim",
        """
        with hidet.script_module():
            @hidet.script
            def kernel():
                attrs.cuda.grid_dim = blockDim.x
        """,
    ),
    whole(
        "'kernel' is added to a module as 'other' ... attrs.func_name = 'other'",
        "def",
        """
        from hidet.ir import IRModule

        @hidet.script
        def kernel():
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 1

        IRModule().add_function("other", kernel)
        """,
    ),
    whole(
        "the module has a function of the name 'kernel' already",
        "def",
        """
        with hidet.script_module():
            for _ in range(2):
                @hidet.script
                def kernel():
                    attrs.cuda.grid_dim = 1
                    attrs.cuda.block_dim = 1
        """,
    ),
    *(
        whole(
            message,
            "a",
            f"""
            with hidet.script_module():
                @hidet.script
                def kernel(a: {kind}):
                    attrs.cuda.grid_dim = 1
                    attrs.cuda.block_dim = 32
            """,
        )
        for message, kind in (
            (
                "a box with 1 extents of a tensor with 2 dimensions",
                "tensor_map(f16[8, 8], box=(8,))",
            ),
            (
                "the extents are 1 to 256; a larger tile",
                "tensor_map(f16[512, 8], box=(512, 8))",
            ),
            ("cannot be swizzled in 16 bytes", "tensor_map(f16[8, 8], box=(8, 8), swizzle=16)"),
            ("a row of the box has 6 bytes", "tensor_map(f16[8, 8], box=(8, 3))"),
            (
                "has 256 bytes; a multiple of 16, and no more than the 128 of the swizzle",
                "tensor_map(f16[8, 128], box=(8, 128), swizzle=128)",
            ),
        )
    ),
    *(
        whole(
            message,
            caret,
            f"""
            @hidet.script
            def other(m: tensor_map(f16[64, 64], box=(64, 32))):
                pass

            with hidet.script_module():
                @hidet.script
                def kernel(a: tensor_map(f16[64, 64], box=(64, 64), swizzle=128)):
                    attrs.cuda.grid_dim = 1
                    attrs.cuda.block_dim = 32
                    bar = shared_tensor("uint64", [1])
                    box = shared_tensor("float16", [64, 64])
                    wide = shared_tensor("float32", [64, 64])
                    {line}
            """,
        )
        for message, caret, line in (
            ("1 coordinates in f16[64, 64]", "tma_load", "tma_load(box, a, 0, bar)"),
            (
                "the elements of a tensor f32[64, 64] are not those of",
                "tma_load",
                "tma_load(wide, a, (0, 0), bar)",
            ),
            (
                "4096 elements does not fit into a pointer ~f16, which has 4032 from there",
                "tma_store",
                "tma_store(a, (0, 0), ~box[1, 0])",
            ),
            ("'m' of 'other' is tensor_map(f16[64, 64], box=(64, 32)", "other", "other(a)"),
        )
    ),
    whole(
        "the grid of 'kernel' is not divisible into clusters of 2 blocks ... a multiple of 2",
        "def",
        """
        with hidet.script_module():
            @hidet.script
            def kernel():
                attrs.cuda.grid_dim = 3
                attrs.cuda.block_dim = 32
                attrs.cuda.cluster_dim = 2
        """,
    ),
    whole(
        "a group inside of another one ... put one after the other",
        "for",
        """
        with hidet.script_module():
            @hidet.script
            def kernel():
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 64
                for worker in task.group(0, 64):
                    for worker in task.group(0, 32):
                        printf("group")
        """,
    ),
    whole(
        "a barrier of the block in a group ... barrier_sync(1, count)",
        "syncthreads",
        """
        with hidet.script_module():
            @hidet.script
            def kernel():
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 64
                for worker in task.group(0, 32):
                    syncthreads()
        """,
    ),
    whole(
        "group is collective, but not all threads reach it together",
        "for",
        """
        with hidet.script_module():
            @hidet.script
            def kernel():
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 64
                if threadIdx.x < 40:
                    for worker in task.group(0, 32):
                        printf("group")
        """,
    ),
    whole("the module is empty", None, "hidet.script_module().ir_module()"),
    whole("the module is empty", None, "hidet.ir.IRModule().build()"),
    whole("'threadIdx.x' exists in a kernel only", None, "threadIdx.x"),
    whole("the kernel 'other' is not built ... module.build()(...)", None, "other(0)"),
    whole("'<lambda>' cannot be a script", None, "hidet.script(\nlambda: 0)"),
    whole(
        "the source of 'kernel' cannot be read",
        None,
        """
        names = {}
        exec("def kernel(): pass", names)
        hidet.script(names["kernel"])
        """,
    ),
]

HOST = """
with hidet.script_module():
    @hidet.script
    def scale(x: f32[8], y: ~f32, n: i32):
        attrs.cuda.grid_dim = cdiv(n, 8)
        attrs.cuda.block_dim = 8

    @hidet.script
    def launch(x: f32[8], y: ~f32, n: i32):
        attrs.func_kind = "public"
"""


def inside(head, message, caret, body):
    """Return a mistake in the body of the last function of a head."""
    return message, caret, HEADER + head + textwrap.indent(textwrap.dedent(body), " " * 8)


def in_public(message, caret, body):
    """Return a mistake inside of a public function."""
    return inside(HOST, message, caret, body)


PUBLIC = [
    in_public(
        "a public function cannot access elements of tensors ... in a kernel",
        "i",
        "i = i32(x[0])\nscale(x, y, i)",
    ),
    in_public(
        "a public function runs on the host, which does not support cuda.sync_threads",
        "syncthreads",
        "scale(x, y, n)\nsyncthreads()",
    ),
    in_public("'scale': missing a required argument: 'n'", "scale", "scale(x, y)"),
    in_public(
        "the parameter 'x' of 'scale' is f32[8], and got a pointer ~f32", "scale", "scale(y, y, n)"
    ),
    in_public(
        "the kernel 'other' is in another module than the function that calls it",
        "other",
        "other(x)",
    ),
    in_public(
        "the attribute 'grid_dim' belongs to CUDA kernels, not to a public",
        "attrs",
        "attrs.cuda.grid_dim = 1\nscale(x, y, n)",
    ),
    in_public("the function 'launch' returns a tensor f32[8] ... a number", "def", "return x"),
    whole(
        "attrs.func_kind of 'function' is not set by a literal",
        "def",
        """
        kind = "cpu_kernel"
        with hidet.script_module():
            @hidet.script
            def function(x: f32[8]):
                attrs.func_kind = kind
                attrs.cuda.grid_dim = 1
                attrs.cuda.block_dim = 1
        """,
    ),
    whole(
        "the parameter 'x' of a function has no type",
        "x",
        """
        with hidet.script_module():
            @hidet.script
            def launch(x):
                pass
        """,
    ),
]

CPU = """
with hidet.script_module():
    @hidet.script
    def function(x: f32[8], n: i32):
        attrs.func_kind = "cpu_kernel"
"""


def in_cpu_kernel(message, caret, body):
    """Return a mistake inside of a kernel of the CPU."""
    return inside(CPU, message, caret, body)


ON_CPU = [
    in_cpu_kernel(
        "a cpu_kernel is one thread of the CPU, where there is no cuda.thread_id",
        "x",
        "x[threadIdx.x] = 0.0",
    ),
    in_cpu_kernel(
        "a cpu_kernel is one thread of the CPU, where there is no shared memory",
        "t",
        't = shared_tensor("f32", [4])\nt[0] = x[0]\nx[1] = t[0]',
    ),
    in_cpu_kernel(
        "the iterations of a parallel loop share the variable 'total' ... inside of the loop",
        "total",
        'total = 0.0\nfor i in grid(8, attrs="p"):\n    total += x[i]\nx[0] = total',
    ),
    in_cpu_kernel(
        "an assertion in a parallel loop ... check before the loop",
        "assert",
        'for i in grid(n, attrs="p"):\n    assert n > i',
    ),
    in_cpu_kernel(
        "a parallel loop is left early",
        "for",
        'for i in grid(n, attrs="p"):\n    if x[i] > 0:\n        break',
    ),
    in_cpu_kernel("the kernel 'other' cannot be called from a kernel", "other", "other(x)"),
]

VOID = """
@hidet.script
def anything(p: void_p):
    return cast(p, ~f32)[0]

with hidet.script_module():
    @hidet.script
    def kernel(p: void_p, x: ~f32, n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
"""


def with_pointer(message, caret, body):
    """Return a mistake inside of a kernel that takes a pointer to anything."""
    return inside(VOID, message, caret, body)


POINTERS = [
    with_pointer("a pointer void_p has no elements ... cast(p, ~f32)", "p", "n = p[0]"),
    with_pointer(
        "a value of type i32 cannot become a pointer ~f32 ... ~x[i]", "cast", "cast(n, ~f32)"
    ),
    with_pointer("the int 3 has no address ... ~x[i]", "x", "n = x == 3"),
    with_pointer(
        "a pointer ~f32 points into a tensor that is distributed over threads ... register_tensor",
        "cast",
        "cast(~register_tensor('f32', layout=local_layout(8) * row_major(4))[0], ~u32)",
    ),
    with_pointer(
        "the parameter 'p' of 'anything' is void_p, and got a value of type i32",
        "anything",
        "x[0] = anything(n)",
    ),
]

CASES = [*read_bodies(), *WHOLE, *PUBLIC, *ON_CPU, *POINTERS]


def provoke(text, folder):
    """Run a program from a file; return its error and the locations that raised it."""
    path = folder / "program.py"
    path.write_text(text)
    specification = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(specification)
    with option.context(full_traceback=True), pytest.raises(ScriptError) as caught:
        specification.loader.exec_module(module)
    places = set()
    error = caught.value
    while error is not None:
        traceback = error.__traceback__
        while traceback is not None:
            file = Path(traceback.tb_frame.f_code.co_filename)
            if file.parent == PACKAGE:
                places.add((file.name, traceback.tb_lineno))
            traceback = traceback.tb_next
        error = error.__cause__
    return caught.value, places, path


@pytest.mark.parametrize(("message", "caret", "text"), CASES, ids=[case[0] for case in CASES])
def test_mistake(message, caret, text, tmp_path):
    """A mistake reports what is wrong, where, and shows the line."""
    error, _, path = provoke(text, tmp_path)
    what, _, hint = message.partition(" ... ")
    assert what in error.what
    assert " at 0x" not in str(error)
    assert hint in (error.hint or "")
    if caret is None:
        return
    file, _, line = error.where.rpartition(":")
    assert file == str(path)
    shown, marker = error.source.splitlines()
    assert text.splitlines()[int(line) - 1].strip() == shown
    assert shown[marker.index("^") :].startswith(caret)
    assert f"      {shown}\n      {marker}" in str(error)


def raise_sites():
    """Return the lines of the frontend that raise an error of the user."""
    for path in sorted(PACKAGE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                continue
            function = node.exc.func
            name = function.id if isinstance(function, ast.Name) else function.attr
            if name in ("ScriptError", "error", "Misuse"):
                yield path.name, node.lineno, node.end_lineno


def test_every_error_has_a_case(tmp_path):
    """The catalogue provokes every error that the frontend can raise."""
    seen = set()
    for _, _, text in CASES:
        seen |= provoke(text, tmp_path)[1]
    missing = [
        f"{name}:{first}"
        for name, first, last in raise_sites()
        if not any((name, line) in seen for line in range(first, last + 1))
    ]
    assert not missing


def test_error_in_a_function_that_is_called_points_into_it(tmp_path):
    """The line shown is that of the mistake, not that of the call."""
    body = """
    @hidet.script
    def inner(x: f32):
        return x + wrong

    with hidet.script_module():
        @hidet.script
        def kernel(y: f32[8]):
            attrs.cuda.grid_dim = 1
            attrs.cuda.block_dim = 8
            y[0] = inner(y[1])
    """
    error, _, _ = provoke(HEADER + textwrap.dedent(body), tmp_path)
    assert error.source == "return x + wrong\n           ^"


def test_text():
    """The text of an error has the line and the caret between location and hint."""
    error = ScriptError("it is wrong", where="a.py:3", source="x = y\n    ^", hint="make it right")
    assert str(error) == (
        "it is wrong\n  at: a.py:3\n      x = y\n          ^\n  hint: make it right"
    )
    assert str(ScriptError("it is wrong")) == "it is wrong"
    assert hidet.errors.ScriptError is ScriptError
