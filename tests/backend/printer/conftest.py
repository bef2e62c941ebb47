"""Runs printed kernels: on the CPU, and operation by operation in Python, the oracle.

The oracle takes the operations of a kernel one after the other, before any pass. The same kernel
goes through the passes that end in `form-expressions`, is printed, compiled by g++ and run.
"""

import ctypes

import numpy as np
import pytest
from scalar_semantics import SCALARS, numpy_type
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.rewriter import InsertPoint

from hidet.backend.printer import print_kernels
from hidet.backend.toolchains import Gxx
from hidet.context import make_context
from hidet.dialects.cuda.instructions import BlockIdOp, SyncThreadsOp
from hidet.dialects.cuda.kernel import KernelOp
from hidet.dialects.shaped import memref_type
from hidet.lowering.cuda.demote_scf_values import DemoteScfValuesPass
from hidet.lowering.cuda.form_expressions import FormExpressionsPass
from hidet.lowering.cuda.index_width import IndexWidthPass
from hidet.lowering.cuda.infer_readonly import InferReadonlyPass
from hidet.rewriting.builder import KernelBuilder


class ExactGxx(Gxx):
    """g++ with the arithmetic of the oracle, which wants clear parentheses.

    It rounds after every operation, and integers wrap around.
    """

    options = ("-shared", "-fPIC", "-std=c++20", "-O1", "-fopenmp", "-ffp-contract=off", "-fwrapv")
    options += ("-Wparentheses", "-Werror", "-Wno-unknown-pragmas")


# The oracle.


class Oracle:
    """Runs a kernel whose blocks have one thread. Without control flow, all blocks at once."""

    def __init__(self, kernel, arrays):
        self.values = dict(zip(kernel.arguments, arrays, strict=True))
        self.blocks = np.arange(kernel.grid_dims[0]) if kernel.grid_dims[0] > 1 else np.asarray(0)
        with np.errstate(all="ignore"):
            self.run(kernel.body.block)

    def run(self, block):
        """Run a block; give what it yields."""
        for op in block.ops:
            operands = [self.values[operand] for operand in op.operands]
            if isinstance(op, scf.YieldOp):
                return operands
            results = self.step(op, operands)
            self.values.update(zip(op.results, results, strict=True))
        return []

    def step(self, op, operands):
        """Run an operation; give its results."""
        match op:
            case SyncThreadsOp():
                return []
            case BlockIdOp():
                return [self.blocks]
            case memref.AllocaOp():
                kind = memref_type(op.memref)
                return [np.zeros(kind.get_shape(), numpy_type(kind.get_element_type()))]
            case memref.LoadOp():
                return [np.array(operands[0][tuple(operands[1:])])]
            case memref.StoreOp():
                operands[1][tuple(operands[2:])] = operands[0]
                return []
            case scf.IfOp():
                region = op.regions[0 if operands[0] else 1]
                return self.run(region.block) if region.blocks else []
            case scf.ForOp():
                return self.loop(op, operands)
            case _:
                return [np.asarray(SCALARS[type(op)](op, *operands))]

    def loop(self, op, operands):
        """Run a loop; give what its last iteration yields."""
        start, stop, step, *carried = operands
        for number in range(int(start), int(stop), int(step)):
            values = [np.asarray(number), *carried]
            self.values.update(zip(op.body.block.args, values, strict=True))
            carried = self.run(op.body.block)
        return carried


# Running the printed kernels.


def run_printed(kernels, arguments, folder):
    """Compile kernels and run each on its arrays, in place."""
    module = ModuleOp([kernel.clone() for kernel in kernels])
    passes = (DemoteScfValuesPass, InferReadonlyPass, IndexWidthPass, FormExpressionsPass)
    for module_pass in passes:
        module_pass().apply(make_context(), module)
        module.verify()
    text = print_kernels(*module.ops)
    path = folder / "kernels.so"
    ExactGxx().compile(text, path)
    library = ctypes.CDLL(str(path))
    for kernel, arrays in zip(kernels, arguments, strict=True):
        cells = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
        table = (ctypes.c_void_p * len(cells))(*map(ctypes.addressof, cells))
        launch = getattr(library, f"{kernel.sym_name.data}_launch")
        assert launch(table, *kernel.grid_dims, 0) == 0
    return text


class Printed:
    """Builds kernels, and compares what they compute when printed with the oracle.

    Args:
        folders: makes the folders for the binaries.
    """

    functions = tuple(op for op in SCALARS if op.name.startswith("math."))

    def __init__(self, folders):
        self._folders = folders

    @staticmethod
    def build(name, types, body, *, blocks=1):
        """Build a kernel; `body` gets a builder and the arguments."""
        block = Block(arg_types=types)
        body(KernelBuilder(InsertPoint.at_end(block)), *block.args)
        return KernelOp(name, [blocks], [1], Region(block))

    @staticmethod
    def poisoned(kind, shape):
        """An array full of what no kernel writes."""
        dtype = numpy_type(kind)
        worst = {"f": np.nan, "b": True, "i": -99}
        return np.full(shape, worst[dtype.kind], dtype)

    def check(self, kernels, arguments, *, tolerance=0.0):
        """Run each kernel on its arrays, which it changes, and compare with the oracle."""
        wanted = [[array.copy() for array in arrays] for arrays in arguments]
        for kernel, arrays in zip(kernels, wanted, strict=True):
            Oracle(kernel, arrays)
        text = run_printed(kernels, arguments, self._folders.mktemp("printed"))
        for kernel, arrays, expected in zip(kernels, arguments, wanted, strict=True):
            for array, reference in zip(arrays, expected, strict=True):
                if tolerance:
                    same = np.allclose(array, reference, rtol=tolerance, atol=tolerance)
                else:
                    same = np.array_equal(array, reference, equal_nan=array.dtype.kind == "f")
                assert same, f"{array} is not {reference}\n{kernel}\n{text}"


@pytest.fixture(scope="session")
def printed(tmp_path_factory):
    """What the tests of printed kernels need."""
    return Printed(tmp_path_factory)
