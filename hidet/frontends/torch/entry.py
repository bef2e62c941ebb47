"""The target of torch's entry point: importing this module registers the backend.

Torch loads an entry point and registers its value without a lock around both, so if several threads
ask for a backend first, all but one find the name taken. Python runs a module once, whatever the
number of threads, so the backend is registered here.
"""

from torch._dynamo import register_backend

from hidet.frontends.torch import NAME
from hidet.loading import collector_paused

with collector_paused(for_good=True):
    from hidet.frontends.torch.backend import hidet_backend

register_backend(compiler_fn=hidet_backend, name=NAME)  # pyright: ignore[reportArgumentType]

NOTHING_LEFT = None
"""The value that torch loads; it does not register None."""
