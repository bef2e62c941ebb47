"""What users of the torch frontend import.

    import hidet
    model = torch.compile(model, backend="hidet")

The backend is known to torch by its name where hidet is installed, and wherever this module has
been loaded; `torch.compile(model, backend=hidet.torch.backend)` works everywhere.
"""

from hidet.frontends.torch import register
from hidet.frontends.torch.backend import hidet_backend as backend
from hidet.frontends.torch.config import DynamoConfig, dynamo_config
from hidet.frontends.torch.notices import (
    ManyShapesWarning,
    NoEffectWarning,
    UnsupportedOperatorWarning,
)

__all__ = [
    "DynamoConfig",
    "ManyShapesWarning",
    "NoEffectWarning",
    "UnsupportedOperatorWarning",
    "backend",
    "dynamo_config",
    "register",
]

register()
