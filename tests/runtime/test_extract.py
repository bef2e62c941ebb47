"""From host functions to plans: random programs give the same numbers in any allowed order."""

import ctypes

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from hidet.analysis.kernels import kernels_of
from hidet.context import make_context
from hidet.driver.extract import extract_plan
from hidet.errors import LegalityError, UnsupportedDtypeError
from hidet.lowering.host.overlap_launches import OverlapLaunchesPass
from hidet.lowering.host.plan_memory import PlanMemoryPass
from hidet.runtime.cuda_graph import CudaGraphExecutor
from hidet.runtime.plan import Argument, Copy, Plan, TensorMap
from hidet.runtime.specs import Scalar, TensorMapSpec, TensorSpec

CONTEXT = make_context()


def _plan(text, planned=False):
    """Parse a program, plan its memory and launches unless that is done, and read its plan."""
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    if not planned:
        PlanMemoryPass().apply(CONTEXT, module)
        OverlapLaunchesPass().apply(CONTEXT, module)
        module.verify()
    for kernel in kernels_of(module):
        kernel.replace_body("library")
    module.verify()
    plan = extract_plan(module, target="sm_90a")
    assert Plan.from_json(plan.to_json()) == plan
    return plan


KERNELS = """
cuda.kernel @f(%x : memref<8xf32> {cuda.readonly}, %y : memref<8xf32>) grid(2, 3) block(64)
    attributes {shared_bytes = 1024 : i64} { %c = arith.constant 0 : index }
cuda.kernel @none(%x : memref<0xf32> {cuda.readonly}, %y : memref<0xf32>) grid(0) block(64) {
  %c = arith.constant 0 : index
}
"""


def test_plan_of_a_small_program():
    plan = _plan(
        KERNELS
        + """
        func.func @prepare() -> tensor<8xf32> {
          %p = graph.constant "p3" : tensor<8xf32>
          %a = cuda.launch @f(%p) : (tensor<8xf32>) -> tensor<8xf32>
          %b = cuda.launch @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
          func.return %b : tensor<8xf32>
        }
        func.func @forward(%x : tensor<8xf32>, %e : tensor<0xf32>)
            -> (tensor<8xf32>, tensor<8xf32>, tensor<0xf32>) {
          %q = graph.constant "prepared0" : tensor<8xf32>
          %p = graph.constant "p0" : tensor<8xf32>
          %a = cuda.launch @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
          %b = cuda.launch @f(%q) : (tensor<8xf32>) -> tensor<8xf32>
          %n = cuda.launch @none(%e) : (tensor<0xf32>) -> tensor<0xf32>
          %c = cuda.launch @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
          func.return %c, %p, %n : tensor<8xf32>, tensor<8xf32>, tensor<0xf32>
        }
        """
    )
    vector, empty = TensorSpec((8,), "f32"), TensorSpec((0,), "f32")
    assert plan.inputs == (vector, empty)
    assert plan.outputs == (vector, vector, empty)
    assert plan.constants == {"p3": vector, "p0": vector}
    (kernel,) = plan.kernels  # the one without blocks is never launched
    assert (kernel.symbol, kernel.artifact_key) == ("f", "library")
    assert (kernel.grid, kernel.block, kernel.shared_bytes) == ((2, 3, 1), (64, 1, 1), 1024)
    assert [launch.arguments for launch in plan.prepare] == [
        (("constant", "p3"), ("arena", 0)),
        (("arena", 0), ("prepared", 0)),
    ]
    assert [launch.arguments for launch in plan.forward] == [
        (("input", 0), ("arena", 0)),
        (("prepared", 0), ("arena", 256)),
        (("arena", 0), ("output", 0)),
    ]
    assert [launch.dependencies for launch in plan.forward] == [(), (), (0,)]
    assert [launch.writes for launch in plan.forward] == [(1,)] * 3
    assert plan.copies == (Copy(Argument("constant", "p0"), Argument("output", 1), 32),)
    assert (plan.arena_bytes, plan.prepared_bytes) == (512, 256)


def test_prepare_may_hand_a_constant_through():
    plan = _plan(
        """
        func.func @prepare() -> tensor<8xf32> {
          %p = graph.constant "p3" : tensor<8xf32>
          func.return %p : tensor<8xf32>
        }
        func.func @forward() -> tensor<8xf32> {
          %q = graph.constant "prepared0" : tensor<8xf32>
          func.return %q : tensor<8xf32>
        }
        """
    )
    constant, output = Argument("constant", "p3"), Argument("output", 0)
    assert plan.copies == (Copy(constant, output, 32, when="ahead"),)
    assert plan.prepared_bytes == 0


def test_other_operations_are_refused():
    text = """
        func.func @forward(%x : tensor<8xf32>) -> tensor<8xf32> {
          %y = graph.relu %x : tensor<8xf32>
          func.return %y : tensor<8xf32>
        }
    """
    with pytest.raises(VerifyException, match=r"'graph.relu' in host function @forward: only"):
        _plan(text)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (KERNELS, LegalityError, "no host function @forward"),
        (
            KERNELS + "func.func @forward() { cuda.launch @f() : () -> () func.return }",
            LegalityError,
            "a launch of @f passes 0 arguments",
        ),
        (
            "func.func @forward() { cuda.launch @g() : () -> () func.return }",
            LegalityError,
            "a launch names @g, which is no kernel",
        ),
        (
            "func.func @forward(%x : tensor<4xf32>) { func.return }",
            LegalityError,
            "passes tensor<4xf32>, which is not a memref",
        ),
        (
            "func.func @forward(%x : memref<4xi4>) { func.return }",
            UnsupportedDtypeError,
            "no tensors of i4",
        ),
        (
            """func.func @forward() {
              %a = cuda.buffer constant "p0" : memref<4xf32>
              %b = cuda.buffer constant "p0" : memref<5xf32>
              func.return
            }""",
            LegalityError,
            "constant 'p0' is",
        ),
    ],
)
def test_unplanned_functions_are_refused(text, error, message):
    with pytest.raises(error) as raised:
        _plan(text, planned=True)
    assert message in str(raised.value)


class _Program:
    """A random program: its text, its kernels in Python, and its value by direct evaluation.

    Every kernel adds up the sums of what it reads and fills its results with the total plus a
    number of its own, so a byte overwritten too early or read too late changes the outputs.
    """

    def __init__(self, data):
        self.draw = data.draw
        self.lines = {"prepare": [], "forward": []}
        self.kernel_lines = []
        self.kernels = {}
        self.values = {}
        self.sizes = {}
        self.inputs, self.constants = [], []
        if self.draw(st.booleans()):
            constants = [self._constant("prepare", f"p{n}") for n in range(2)]
            results = self._launches("prepare", constants)
            kept = self.draw(st.lists(st.sampled_from([*results, *constants]), max_size=3))
            self._return("prepare", kept)
            ready = [self._prepared(n, name) for n, name in enumerate(kept)]
        else:
            ready = []
        self.inputs = [self._value(f"x{n}") for n in range(2)]
        sources = [*self.inputs, *ready, self._constant("forward", "p9")]
        results = self._launches("forward", sources)
        self.outputs = self.draw(
            st.lists(st.sampled_from([*results, *sources]), min_size=1, max_size=4)
        )
        # The last inputs, and the last outputs, may lie in one tensor.
        self.packings = {
            "packed_inputs": self._packing(self.inputs),
            "packed_outputs": self._packing(self.outputs),
        }
        self._return("forward", self.outputs)

    def _packing(self, names):
        """Give the bounds of some of these tensors in one."""
        count = self.draw(st.integers(0, len(names)))
        packed = names[len(names) - count :]
        bounds = [256 * self.draw(st.integers(0, 1))]
        for name in packed:
            bounds.append(bounds[-1] + 256 * self.draw(st.integers(1 + self.sizes[name] // 65, 5)))
        return bounds if packed else []

    def _value(self, name):
        self.sizes[name] = self.draw(st.sampled_from([0, 1, 5, 64, 65, 200]))
        self.values[name] = torch.randint(-4, 5, (self.sizes[name],)).float()
        return name

    def _constant(self, function, key):
        name = self._value(f"c{key}")
        self.constants.append(key)
        self.lines[function].append(f'%{name} = graph.constant "{key}" : {self._type(name)}')
        return name

    def _prepared(self, number, name):
        key = f"q{number}"
        self.sizes[key], self.values[key] = self.sizes[name], self.values[name]
        self.lines["forward"].append(
            f'%{key} = graph.constant "prepared{number}" : {self._type(key)}'
        )
        return key

    def _type(self, name, kind="tensor"):
        return f"{kind}<{self.sizes[name]}xf32>"

    def _types(self, names):
        return ", ".join(self._type(name) for name in names)

    def _launches(self, function, sources):
        results = []
        for _ in range(self.draw(st.integers(1, 10))):
            number = len(self.kernels)
            known = [*sources, *results]
            reads = self.draw(st.lists(st.sampled_from(known), min_size=1, max_size=3, unique=True))
            total = sum(self.values[name].sum() for name in reads) % 97
            writes = [self._value(f"v{number}r{n}") for n in range(self.draw(st.integers(1, 2)))]
            for n, name in enumerate(writes):
                self.values[name] = torch.full((self.sizes[name],), float(total + number + n))
            self._kernel(number, reads, writes)
            reading = ", ".join(f"%{name}" for name in reads)
            writing = ", ".join(f"%{name}" for name in writes)
            self.lines[function].append(
                f"{writing} = cuda.launch @k{number}({reading}) : "
                f"({self._types(reads)}) -> ({self._types(writes)})"
            )
            results += writes
        return results

    def _kernel(self, number, reads, writes):
        arguments = [
            f"%a{n} : {self._type(name, 'memref')}" + (" {cuda.readonly}" if n < len(reads) else "")
            for n, name in enumerate([*reads, *writes])
        ]
        self.kernel_lines.append(
            f"cuda.kernel @k{number}({', '.join(arguments)}) grid(1) block(1) "
            "{ %c = arith.constant 0 : index }"
        )
        sizes = [self.sizes[name] for name in (*reads, *writes)]

        def run(*addresses):
            arrays = [_array(*pair) for pair in zip(addresses, sizes, strict=True)]
            total = sum(array.sum() for array in arrays[: len(reads)]) % 97
            for n, array in enumerate(arrays[len(reads) :]):
                array[:] = total + number + n

        self.kernels[f"k{number}"] = (len(sizes), run)

    def _return(self, function, names):
        values = ", ".join(f"%{name}" for name in names)
        types = self._types(names)
        arguments = ", ".join(f"%{name} : {self._type(name)}" for name in self.inputs)
        lines = self.lines[function]
        packings = self.packings.items() if function == "forward" else ()
        attributes = ", ".join(f"{k} = array<i64: {str(v)[1:-1]}>" for k, v in packings if v)
        lines.insert(
            0, f"func.func @{function}({arguments}) -> ({types}) attributes {{{attributes}}} {{"
        )
        lines.append(f"func.return {values} : {types} }}" if names else "func.return }")

    @property
    def text(self):
        return "\n".join([*self.kernel_lines, *self.lines["prepare"], *self.lines["forward"]])


def _array(address, size):
    if not size:
        return np.zeros(0, np.float32)
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (size,))


def _parts(whole, bounds, values):
    """Give the tensors like these values that lie in another one."""
    ends = zip(bounds, values, strict=False)
    return [whole[start : start + value.nbytes].view(torch.float32) for start, value in ends]


PACKED = """
func.func @forward(%x : memref<8xf32>, %y : memref<8xf32>)
    attributes {outputs = 1 : i64, ATTRIBUTE} {
  cuda.launch @f(%x, %y) : (memref<8xf32>, memref<8xf32>) -> ()
  func.return
}
"""


def test_packed_tensors_lie_in_the_last_one():
    both = "packed_inputs = array<i64: 256, 512>, packed_outputs = array<i64: 0, 256>"
    plan = _plan(KERNELS + PACKED.replace("ATTRIBUTE", both), planned=True)
    assert plan.inputs == (TensorSpec((512,), "i8"),)
    assert plan.outputs == (TensorSpec((256,), "i8"),)
    (launch,) = plan.forward
    assert launch.arguments == (("packed_input", 256), ("packed_output", 0))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ("0, 16", "memref<8xf32> cannot lie in the bytes 0 to 16"),
        ("64, 512", "memref<8xf32> cannot lie in the bytes 64 to 512"),
        ("0, 256, 512", "2 inputs are packed, of 1"),
        ("256, 0", "not ascending offsets and a size"),
        ("256", "not ascending offsets and a size"),
    ],
)
def test_wrong_packings_are_refused(bounds, message):
    text = PACKED.replace("ATTRIBUTE", f"packed_inputs = array<i64: {bounds}>")
    with pytest.raises(LegalityError, match=message):
        _plan(KERNELS + text, planned=True)


@settings(max_examples=150)
@given(st.data(), st.integers(0, 1000))
def test_random_programs(make_services, data, seed):
    program = _Program(data)
    plan = _plan(program.text)
    services = make_services(program.kernels, seed)
    executor = CudaGraphExecutor(plan, {"library": b"cubin"}, torch.device("cpu"), services)
    inputs = [program.values[name] for name in program.inputs]
    if bounds := program.packings["packed_inputs"]:
        own = len(inputs) - len(bounds) + 1
        whole = torch.empty(bounds[-1], dtype=torch.int8)
        for part, value in zip(_parts(whole, bounds, inputs[own:]), inputs[own:], strict=True):
            part.copy_(value)
        inputs = [*inputs[:own], whole]
    constants = [program.values[f"c{key}"] for key in plan.constants]
    for _ in range(2):
        outputs = executor.run(inputs, constants)
        expected = [program.values[name] for name in program.outputs]
        if bounds := program.packings["packed_outputs"]:
            own = len(outputs) - 1
            outputs = [*outputs[:own], *_parts(outputs[own], bounds, expected[own:])]
        for output, value in zip(outputs, expected, strict=True):
            assert torch.equal(output, value)


VALUES = """
!whole = !cuda.tensor_map<tensor<8x32xf16>, box [8, 32], swizzle 64>
!part = !cuda.tensor_map<tensor<3x32xf16>, box [4, 32]>

cuda.kernel @f(%x : !whole {cuda.readonly}, %n : i32, %s : f32, %y : !part)
    grid(2, 4) block(64) attributes {cuda.cluster = array<i64: 2, 1, 1>} {
}
cuda.kernel @g(%x : memref<256xf16> {cuda.readonly}, %h : f16, %b : bf16, %y : memref<256xf16>)
    grid(2) block(64) {
  cuda.grid_dependency_wait
}
func.func @forward(%x : memref<256xf16>, %out0 : memref<256xf16>)
    attributes {outputs = 1 : i64, arena_bytes = 1024 : i64, prepared_bytes = 0 : i64} {
  %n = arith.constant -2 : i32
  %s = arith.constant 1.5 : f32
  %h = arith.constant 1.0 : f16
  %b = arith.constant 1.0 : bf16
  %a = cuda.buffer arena offset 512 : memref<256xf16>
  %m = cuda.tensor_map %x : memref<256xf16> -> !whole
  %t = cuda.tensor_map %a offset 32 strides [64, 1] : memref<256xf16> -> !part
  cuda.launch @f(%m, %n, %s, %t) : (!whole, i32, f32, !part) -> ()
  cuda.launch @g(%a, %h, %b, %out0) programmatic
      : (memref<256xf16>, f16, bf16, memref<256xf16>) -> ()
  func.return
}
"""


def test_numbers_maps_clusters_and_edges():
    plan = _plan(VALUES, planned=True)
    first, second = plan.forward
    assert first.arguments == (
        TensorMap(Argument("input", 0), 0, TensorMapSpec("f16", (8, 32), (64,), (8, 32), 64)),
        Scalar("i32", 0xFFFFFFFE),
        Scalar("f32", 0x3FC00000),
        TensorMap(Argument("arena", 512), 64, TensorMapSpec("f16", (3, 32), (128,), (4, 32), 0)),
    )
    assert second.arguments[1:3] == (Scalar("f16", 0x3C00), Scalar("bf16", 0x3F80))
    assert [kernel.cluster for kernel in plan.kernels] == [(2, 1, 1), (1, 1, 1)]
    # The second launch reads what the first one writes through a map.
    assert [launch.writes for launch in plan.forward] == [(3,), (3,)]
    assert [launch.dependencies for launch in plan.forward] == [(), (0,)]
    assert [launch.edges for launch in plan.forward] == ["full", "programmatic"]


BRANCHES = """
cuda.kernel @one(%x : memref<8xf32> {cuda.readonly}, %y : memref<8xf32>)
    grid(1) block(32) attributes {cuda.overlaps} {
  cuda.grid_dependency_wait
}
cuda.kernel @two(%a : memref<8xf32> {cuda.readonly}, %b : memref<8xf32> {cuda.readonly},
    %y : memref<8xf32>) grid(1) block(32) attributes {cuda.overlaps} {
  cuda.grid_dependency_wait
}
func.func @forward(%x : tensor<8xf32>) -> tensor<8xf32> {
  %a = cuda.launch @one(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %b = cuda.launch @one(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %c = cuda.launch @one(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %d = cuda.launch @two(%b, %c) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %d : tensor<8xf32>
}
"""


def test_programmatic_edges_of_branches():
    """A launch waits for all of its predecessors, so forks and joins are as chains are."""
    launches = _plan(BRANCHES).forward
    assert [launch.dependencies for launch in launches] == [(), (0,), (0,), (1, 2)]
    assert [launch.edges for launch in launches] == ["full", *["programmatic"] * 3]


def test_kernel_without_a_binary():
    program = KERNELS + "func.func @forward(%x : memref<8xf32>, %y : memref<8xf32>) {"
    program += "cuda.launch @f(%x, %y) : (memref<8xf32>, memref<8xf32>) -> () func.return }"
    with pytest.raises(LegalityError, match="names @f, which has not been compiled"):
        extract_plan(Parser(CONTEXT, program).parse_module(), target="sm_90a")


def test_a_number_that_no_kernel_takes_is_refused():
    text = VALUES.replace("arith.constant -2 : i32", "arith.constant -2 : i7").replace("i32", "i7")
    with pytest.raises(LegalityError, match="a launch passes the constant -2 : i7"):
        _plan(text, planned=True)
