"""Where torch's entry point leads: importing this module registers the backend.

Torch loads an entry point and registers what it is given, with no lock around both: of several
threads that ask for a backend first, all but one would find the name taken. Python runs a module
once, whatever the number of threads, so the backend is registered here.
"""

from torch._dynamo import register_backend

from hidet.frontends.torch import NAME
from hidet.frontends.torch.backend import hidet_backend
from hidet.frontends.torch.forked import Forks

register_backend(compiler_fn=hidet_backend, name=NAME)  # pyright: ignore[reportArgumentType]

NOTHING_LEFT = None
"""What torch is given: it registers no function where there is none."""

FORKS = Forks()
"""The forks of this process: torch may be in danger in a child once anything is compiled."""
