"""The public API of the torch frontend.

    import hidet
    model = torch.compile(model, backend="hidet")

torch knows the backend by its name if hidet is installed, or once this module has been imported;
`torch.compile(model, backend=hidet.torch.backend)` always works.

What has been compiled, and how long it took:

    for graph in hidet.torch.compiled_graphs():
        print(graph.report.table())

`register_op` makes torch operators of script kernels.
"""

from hidet.absent import explain_missing
from hidet.frontends.torch import register
from hidet.frontends.torch.backend import ManyShapesWarning
from hidet.frontends.torch.backend import hidet_backend as backend
from hidet.frontends.torch.custom_op import register_op
from hidet.frontends.torch.partition import UnsupportedOperatorWarning
from hidet.frontends.torch.program import compiled_graphs
from hidet.frontends.torch.settings import DynamoConfig, dynamo_config

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
