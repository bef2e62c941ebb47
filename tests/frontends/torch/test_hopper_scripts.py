"""Scripts for Hopper inside of compiled programs: tensor maps, clusters, programmatic launches."""

import runpy
from functools import partial
from pathlib import Path

import pytest
import torch

import hidet
from hidet.lang import attrs, f16, shared_tensor
from hidet.lang.cuda import (
    block_rank_in_cluster,
    blockIdx,
    cluster_sync,
    fence_mbarrier_init,
    fence_proxy_async,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    mbarrier_arrive_and_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    tensor_map,
    threadIdx,
    tma_commit_group,
    tma_load,
    tma_store,
    tma_wait_group,
)

ROWS, COLUMNS, CLUSTER = 32, 64, 4


@pytest.fixture(autouse=True)
def fresh_dynamo():
    """No test sees what dynamo has compiled for another one."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def make_reversal():
    """Return a kernel that reverses the order of the blocks' rows in each cluster.

    Each block fetches its eight rows for all blocks of the cluster, and keeps those of the block
    opposite to it. It begins before the kernel ahead of it is over.
    """
    rows = ROWS // CLUSTER
    size = rows * COLUMNS * 2

    with hidet.script_module() as module:

        @hidet.script
        def reverse(
            a: tensor_map(f16[ROWS, COLUMNS], box=(rows, COLUMNS), swizzle=128),
            b: tensor_map(f16[ROWS, COLUMNS], box=(rows, COLUMNS), swizzle=128),
        ):
            attrs.cuda.grid_dim = CLUSTER
            attrs.cuda.block_dim = 32
            attrs.cuda.cluster_dim = CLUSTER
            boxes = shared_tensor("float16", [CLUSTER, rows, COLUMNS])
            full = shared_tensor("uint64", [1])
            rank = block_rank_in_cluster()
            if threadIdx.x == 0:
                mbarrier_init(full, 1)
                fence_mbarrier_init()
                mbarrier_arrive_and_expect_tx(full, CLUSTER * size)
            cluster_sync()
            griddepcontrol_wait()
            if threadIdx.x == 0:
                place = blockIdx.x * rows, 0
                tma_load(~boxes[rank, 0, 0], a, place, full, multicast=(1 << CLUSTER) - 1)
                mbarrier_wait(full, 0)
                griddepcontrol_launch_dependents()
                fence_proxy_async()
                tma_store(b, place, ~boxes[CLUSTER - 1 - rank, 0, 0])
                tma_commit_group()
                tma_wait_group(0)
            cluster_sync()

    return module.build()


def opposite(x):
    """Return what the kernel computes."""
    return x.reshape(CLUSTER, -1, COLUMNS).flip(0).reshape(ROWS, COLUMNS)


def model(kernel, x, w):
    """Run the kernel on an input, on what torch has computed, on its own, and on a part of `w`."""
    first, second, third, fourth = (torch.empty_like(x) for _ in range(4))
    kernel(x, first)
    kernel(first * 2, second)
    kernel(second, third)
    kernel(w[ROWS:], fourth)
    return third - x, fourth, first


def check(device):
    """Compare the compiled model with eager torch, on new tensors and on those of before."""
    run = partial(model, make_reversal())
    compiled = torch.compile(run, backend="hidet", fullgraph=True)
    inputs = [torch.randn(ROWS, COLUMNS, device=device).half() for _ in range(2)]
    weights = [torch.randn(2 * ROWS, COLUMNS, device=device).half() for _ in range(2)]
    with torch.no_grad():
        for x, w in [(0, 0), (0, 0), (1, 0), (0, 1)]:
            third, fourth, first = compiled(inputs[x], weights[w])
            outside = run(inputs[x], weights[w])
            assert torch.equal(first, opposite(inputs[x]))
            assert torch.equal(third, 2 * opposite(inputs[x]) - inputs[x])
            assert torch.equal(fourth, opposite(weights[w][ROWS:]))
            assert all(map(torch.equal, (third, fourth, first), outside))
    graph = hidet.torch.compiled_graphs()[-1]
    plan = graph.plan
    in_cluster = [plan.kernels[each.kernel].cluster == (CLUSTER, 1, 1) for each in plan.forward]
    assert in_cluster.count(True) == 4
    # What has no dependency waits for nothing; kernels of the model wait only on a GPU.
    for launch, is_script in zip(plan.forward, in_cluster, strict=True):
        waits = bool(launch.dependencies) and (is_script or device.type == "cuda")
        assert launch.edges == ("programmatic" if waits else "full")
    return graph


def test_inside_a_program():
    """Nothing is left to torch, and the results are those outside."""
    check(torch.device("cpu"))


def check_matmul(device):
    """The fast product of the examples in a chain, with a product of torch's in between."""
    path = Path(__file__).parents[3] / "examples" / "script" / "matmul_hopper.py"
    matmul = runpy.run_path(str(path))["build"](128, 256, 256)

    def run(a, b, w):
        first, second = (a.new_empty(128, 256) for _ in range(2))
        matmul(a, b, first)
        matmul((first @ w).relu(), b, second)
        return second

    compiled = torch.compile(run, backend="hidet", fullgraph=True)
    for _ in range(2):
        a, b, w = (torch.randn(n, 256, device=device).half() / 8 for n in (128, 256, 256))
        with torch.no_grad():
            product = compiled(a, b, w)
        expected = (a.double() @ b.T.double() @ w.double()).relu() @ b.T.double()
        torch.testing.assert_close(product.double(), expected, rtol=1e-2, atol=1e-2)


def test_matmul():
    """On the CPU."""
    check_matmul(torch.device("cpu"))


@pytest.mark.gpu
def test_matmul_on_a_gpu():
    """The same on a GPU."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs Hopper")
    check_matmul(torch.device("cuda", 0))


@pytest.mark.gpu
def test_inside_a_program_on_a_gpu():
    """The same on a GPU."""
    if torch.cuda.get_device_capability() < (9, 0):
        pytest.skip("needs a GPU with clusters")
    graph = check(torch.device("cuda", 0))
    executor = graph._replicas[0].executors[0]
    _, _, (_, _, built, _), _ = executor._finalizer.peek()  # the arguments of what frees it
    early = [one for one in graph.plan.forward if one.edges == "programmatic"]
    count = sum(len(one.dependencies) for one in graph.plan.forward)
    _, _, edges, found = executor._services.call("cuGraphGetEdges", built, count)
    assert found == count
    assert [int(edge.type) for edge in edges].count(1) == len(early)
