"""What the tests of all frontends share."""

import pytest
import torch

import hidet


@pytest.fixture
def compiled_plan():
    """Give a function that compiles another one by our backend: its result, and the plan."""

    def run(function, *arguments):
        before = hidet.torch.compiled_graphs()  # kept, so that none of them goes meanwhile
        with torch.no_grad():
            result = torch.compile(function, backend="hidet", fullgraph=True)(*arguments)
        (graph,) = hidet.torch.compiled_graphs()[len(before) :]
        return result, graph.plan

    return run
