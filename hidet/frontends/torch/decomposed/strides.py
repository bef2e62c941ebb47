"""Results of decompositions in the strides of their operators.

dynamo has traced what reads a result with the strides of the operator, so views of it rely on them.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import _disable_current_modes  # pyright: ignore[reportPrivateUsage]
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_map_only, tree_unflatten

from hidet.frontends.torch.storage import Spec, physical_order

Decomposition = Callable[..., Any]


def keeping_strides(
    operator: Any, function: Decomposition, *, always: bool = False
) -> Decomposition:
    """Return a decomposition whose results have the strides of those of an operator.

    Those with gaps keep their own. To find out takes some milliseconds: unless `always`, it is
    taken for granted that all results are contiguous if all arguments are.
    """

    @wraps(function)
    def decomposition(*arguments: Any, **keywords: Any) -> Any:
        found = function(*arguments, **keywords)
        leaves, tree = tree_flatten((arguments, keywords))
        if found is NotImplemented:
            return found
        if not always and all(map(_is_plain, (*leaves, *tree_leaves(found)))):
            return found
        specs = (Spec.of(x) if isinstance(x, Tensor) else x for x in leaves)
        orders = iter(_orders_of(operator, tree, tuple(specs)))
        return tree_map_only(Tensor, lambda x: _in_order(x, next(orders)), found)

    return decomposition


def _is_plain(value: object) -> bool:
    return not isinstance(value, Tensor) or value.is_contiguous()


@lru_cache(maxsize=1024)
def _orders_of(
    operator: Any, tree: TreeSpec, leaves: tuple[Any, ...]
) -> list[tuple[int, ...] | None]:
    """Return the order of the dimensions in memory of each result of an operator.

    It is called with fake tensors of these specs, outside of the graph that is traced.
    """
    with _disable_current_modes(), FakeTensorMode():
        given = [leaf.empty() if isinstance(leaf, Spec) else leaf for leaf in leaves]
        arguments, keywords = tree_unflatten(given, tree)
        results = tree_leaves(operator(*arguments, **keywords))
        return [physical_order(each) for each in results if isinstance(each, Tensor)]


def _in_order(x: Tensor, order: tuple[int, ...] | None) -> Tensor:
    """Return a tensor whose dimensions are in an order in memory, if there is one."""
    if order is None or x.permute(order).is_contiguous():
        return x
    stored = x.permute(order).clone(memory_format=torch.contiguous_format)
    return stored.permute([order.index(dim) for dim in range(x.dim())])
