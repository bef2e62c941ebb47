"""What models hold is freed with them; threads share compiled models."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

import hidet.torch


def network():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).eval()


def test_a_deleted_model_is_freed():
    """Its weights at once, and what is prepared of them; torch keeps its code up to a reset."""
    torch._dynamo.reset()
    model, x = network(), torch.randn(1, 3, 8, 8)
    compiled = torch.compile(model, backend=hidet.torch.backend)
    with torch.no_grad():
        compiled(x)
    graph = hidet.torch.compiled_graphs()[-1]
    ((executor,),) = (each.executors for each in graph._replicas.values())
    weights = [executor._weights.prepared, *model.parameters()]
    references = [weakref.ref(each) for each in (*weights, graph, executor, executor._arena)]
    count = len(weights)
    del model, compiled, graph, executor, weights
    gc.collect()
    assert [each() for each in references[:count]] == [None] * count
    torch.compiler.reset()
    gc.collect()
    assert [each() for each in references] == [None] * len(references)


@pytest.mark.slow
def test_four_threads_and_new_weights():
    """Calls of several threads, with collections between; after each update values are right."""
    torch._dynamo.reset()
    model = network()
    compiled = torch.compile(model, backend=hidet.torch.backend)

    def call(seed):
        x = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            found, expected = compiled(x), model(x)
        if seed % 16 == 0:
            gc.collect()
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)

    call(0)
    graphs = hidet.torch.compiled_graphs()  # kept, those of other tests too
    with ThreadPoolExecutor(4) as threads:
        for update in range(4):
            with torch.no_grad():
                for weight in model.parameters():
                    weight.mul_(1.1).add_(0.01)
            list(threads.map(call, range(32 * update, 32 * update + 32)))
    assert set(hidet.torch.compiled_graphs()) == set(graphs)
