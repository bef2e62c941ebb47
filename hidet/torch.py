"""What users of the torch frontend import.

    import hidet
    model = torch.compile(model, backend="hidet")

The backend is known to torch by its name where hidet is installed, and wherever this module has
been loaded; `torch.compile(model, backend=hidet.torch.backend)` works everywhere.

What has been compiled, and how long it took:

    for graph in hidet.torch.compiled_graphs():
        print(graph.report.table())

Operators of kernels that are written as scripts: `register_op`.
"""

from hidet.absent import explain_missing
from hidet.frontends.torch import register
from hidet.frontends.torch.backend import hidet_backend as backend
from hidet.frontends.torch.config import DynamoConfig, dynamo_config
from hidet.frontends.torch.custom_op import register_op
from hidet.frontends.torch.notices import ManyShapesWarning, UnsupportedOperatorWarning
from hidet.frontends.torch.program import compiled_graphs

explain_missing(__name__)

__all__ = [
    "DynamoConfig",
    "ManyShapesWarning",
    "UnsupportedOperatorWarning",
    "backend",
    "compiled_graphs",
    "dynamo_config",
    "register",
    "register_op",
]

register()
