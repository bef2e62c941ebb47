"""The program that `torch.compile` passes to the compiler."""

import pytest
import torch
from torch._dynamo.exc import BackendCompilerFailed

from hidet.dialects.alias_printer import module_text
from hidet.driver import compilation
from hidet.errors import HidetError


def captured_program(model, *arguments):
    """Return the text of the program of a model, with locations; nothing is compiled."""
    texts = []

    def capture(module, *_):
        texts.append(module_text(module, generic=True, locations=True))
        raise HidetError("the program is captured")

    torch._dynamo.reset()
    with pytest.MonkeyPatch.context() as patch, torch.no_grad():
        patch.setattr(compilation, "compile_program", capture)
        with pytest.raises(BackendCompilerFailed, match="is captured"):
            torch.compile(model, backend="hidet", options={"use_cuda_graph": False})(*arguments)
    return texts[0]
