"""Tensor maps, numbers and programmatic launches in compiled programs."""

import pytest
import torch
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.driver import compile_graph

# @swap exchanges the left and the right half of a matrix, box by box: the halves that it writes
# are maps with strides, one of them with an offset.
SWAP = """
!whole = !cuda.tensor_map<tensor<128x128xf16>, box [64, 64], swizzle 128>
!half = !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>

cuda.kernel @swap(%x : memref<128x128xf16>, %y : memref<128x128xf16>) grid(2) block(32) {
  %from = cuda.tensor_map %x : memref<128x128xf16> -> !whole
  %left = cuda.tensor_map %y strides [128, 1] : memref<128x128xf16> -> !half
  %right = cuda.tensor_map %y offset 64 strides [128, 1] : memref<128x128xf16> -> !half
  %tiles = memref.alloca() : memref<2x64x64xf16, #cuda.space<shared>>
  %full = memref.alloca() : memref<1xi64, #cuda.space<shared>>
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %column = arith.constant 64 : i32
  %bytes = arith.constant 16384 : i32
  %block = cuda.block_id x
  %thread = cuda.thread_id x
  %first_row = arith.muli %block, %64 : index
  %row = arith.index_cast %first_row : index to i32
  %is_first = arith.cmpi eq, %thread, %0 : index
  scf.if %is_first {
    cuda.mbarrier_init %full[%0] count %one : memref<1xi64, #cuda.space<shared>>
    cuda.fence_mbarrier_init
    cuda.grid_dependency_wait
    cuda.mbarrier_arrive_expect_tx %full[%0] bytes %bytes : memref<1xi64, #cuda.space<shared>>
    cuda.tma_load %from(%zero, %row) to %tiles[%0, %0, %0] barrier %full[%0]
      : memref<2x64x64xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !whole
    cuda.tma_load %from(%column, %row) to %tiles[%1, %0, %0] barrier %full[%0]
      : memref<2x64x64xf16, #cuda.space<shared>>, memref<1xi64, #cuda.space<shared>>, !whole
    cuda.mbarrier_wait %full[%0] parity %zero : memref<1xi64, #cuda.space<shared>>
    cuda.fence_proxy_async
    cuda.tma_store %tiles[%1, %0, %0] to %left(%zero, %row)
      : memref<2x64x64xf16, #cuda.space<shared>>, !half
    cuda.tma_store %tiles[%0, %0, %0] to %right(%zero, %row)
      : memref<2x64x64xf16, #cuda.space<shared>>, !half
    cuda.tma_commit
    cuda.tma_wait 0
    cuda.launch_dependents
  }
}
"""

# The maps are of an input, the arena, outputs, a weight, and of what depends on a weight alone.
FORWARD = """
func.func @forward(%x : tensor<128x128xf16>) -> (tensor<128x128xf16>, tensor<128x128xf16>) {
  %w = graph.constant "p0" : tensor<128x128xf16>
  %a = graph.call_kernel @swap(%x) : (tensor<128x128xf16>) -> tensor<128x128xf16>
  %b = graph.call_kernel @swap(%w) : (tensor<128x128xf16>) -> tensor<128x128xf16>
  %c = graph.add %a, %b
    : (tensor<128x128xf16>, tensor<128x128xf16>) -> tensor<128x128xf16>
  %d = graph.call_kernel @swap(%c) : (tensor<128x128xf16>) -> tensor<128x128xf16>
  func.return %d, %a : tensor<128x128xf16>, tensor<128x128xf16>
}
"""


def _compile(device):
    module = Parser(make_context(), SWAP + FORWARD).parse_module()
    module.verify()
    return compile_graph(module, device=device)


def _check(device):
    compiled = _compile(device)
    # The first two launches wait for none; the sum, not of the script, overlaps on GPUs only.
    added = "full" if device.type == "cpu" else "programmatic"
    found = [launch.edges for launch in compiled.plan.forward]
    assert found == ["full", "full", added, "programmatic"]
    # Tensors at the same addresses as before, and at others.
    inputs = [torch.randn(128, 128, device=device).half() for _ in range(3)]
    weights = [torch.randn(128, 128, device=device).half() for _ in range(2)]
    for x, w in [(0, 0), (0, 0), (1, 0), (2, 1), (0, 1)]:
        d, a = compiled.run([inputs[x]], [weights[w]])
        assert torch.equal(a, inputs[x].roll(64, 1))
        assert torch.equal(d, inputs[x] + weights[w])


def test_maps_of_every_memory():
    _check(torch.device("cpu"))


@pytest.mark.gpu
def test_maps_of_every_memory_on_a_gpu():
    device = torch.device("cuda", 0)
    if torch.cuda.get_device_capability(device)[0] < 9:
        pytest.skip("tensor maps need Hopper")
    _check(device)
