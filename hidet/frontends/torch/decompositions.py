"""The decomposition table of ATen operators.

It starts from torch's table for core ATen, omits what we compile better as one operator, and adds
what is neither core nor an operation of the graph dialect.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import _decomp
from torch._inductor import inductor_prims

from hidet.frontends.torch.decomposed import DECOMPOSED
from hidet.frontends.torch.nodes import Overload

aten = torch.ops.aten

KEPT: dict[Any, str] = {
    aten._scaled_dot_product_flash_attention_for_cpu: (
        "attention is one kernel, but would become some 37 operators; the forms of other devices "
        "are core operators already"
    ),
    aten._fused_rms_norm: "the graph dialect has it as rms_norm, scheduled as one row kernel",
    aten.silu: "the graph dialect has it, so that its name stays in programs and kernels",
    aten.all: "becomes a negated any of a negation",
}
"""Operators of torch's table that are not decomposed, each with the reason.

`linear` and `matmul` are not among them: torch takes them apart before it looks at any table. The
importer puts them together again.
"""

ADDED: dict[Any, str] = {
    aten._native_batch_norm_legit: "batch norm of training is a variance, a mean and arithmetic",
    aten._native_batch_norm_legit_functional: "likewise",
    aten._batch_norm_with_update_functional: "likewise",
    aten._batch_norm_no_update: "likewise, of inference, but with outputs for gradients",
    aten.as_strided_copy: "a view",
    aten.dist: "a reduction with arithmetic before and after it",
    aten.grid_sampler_2d: "look-ups at four or sixteen positions, and arithmetic",
    aten.ldexp: "arithmetic on elements",
    aten.narrow_copy: "a view",
    aten.permute_copy: "a view",
    aten.tril_indices: "arithmetic on ranges",
    aten.triu_indices: "likewise",
    aten.unbind_copy: "views",
    aten.view_copy: "a view",
    aten.addmv: "a product of a matrix and a vector is one of matrices",
    aten.elu: "arithmetic on elements",
    aten.hardtanh: "arithmetic on elements",
    aten.leaky_relu: "arithmetic on elements",
    aten.linalg_vector_norm: "a reduction with arithmetic before and after it",
    aten.upsample_bilinear2d: "look-ups at four positions, and arithmetic",
    aten.upsample_nearest2d: "look-ups",
    aten.upsample_trilinear3d: "look-ups at eight positions, and arithmetic",
}
"""Operators outside of torch's table for core operators that are taken apart too, and what into."""


@cache
def decompositions(*, composite: bool = True) -> dict[Overload, Callable[..., Any]]:
    """Return a table from operators to the functions that decompose them.

    Composite operators, which torch collects in a tenth of a second, are for programs that are
    exported: AOTAutograd decomposes them without a table.
    """
    kept = {getattr(packet, name) for packet in KEPT for name in packet.overloads()}
    torch_tables: Any = _decomp
    if composite:
        core = torch_tables.core_aten_decompositions()
    else:
        core = torch_tables._core_aten_decompositions_post_autograd()
    table: dict[Overload, Callable[..., Any]] = {
        target: function for target, function in core.items() if target not in kept
    }
    table.update(torch_tables.get_decompositions(list(ADDED)))
    table.update(DECOMPOSED)
    # The dynamo of torch 2.13 traces `addcdiv_` of optimizers into it.
    if hasattr(inductor_prims, "fma"):
        table[inductor_prims.fma] = _fma
    return table


def _fma(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    return x * y + z
