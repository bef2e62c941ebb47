"""Rearrangement of dimensions in einops notation."""

import re
from itertools import chain
from math import prod

from hidet.errors import HidetError
from hidet.frontends.trace.recording import T, operator


@operator
def einops_rearrange(x: T, pattern: str, **axes_lengths: int) -> T:
    """Return a tensor whose dimensions are split, permuted and merged according to a pattern.

    Args:
        x: the tensor.
        pattern: such as "b (h w) c -> b c h w"; `...` matches any number of dimensions.
        axes_lengths: the sizes of names in parentheses; one per group is inferred.
    """
    before, arrow, after = pattern.partition("->")
    if not arrow:
        raise HidetError(f"pattern '{pattern}' without '->'")
    rest = x.dim() - len(_groups(before, [])) if "..." in before else 0
    others = [f".{number}" for number in range(rest)]
    old, new = _groups(before, others), _groups(after, others)
    if len(old) != x.dim():
        raise HidetError(f"the pattern '{pattern}' is for rank {len(old)}; x has {x.dim()}")
    names, wanted = list(chain(*old)), list(chain(*new))
    if sorted(names) != sorted(wanted) or len({*names}) < len(names):
        raise HidetError(f"both sides of '{pattern}' must contain the same names, each once")
    sizes = dict(axes_lengths)
    for group, size in zip(old, x.shape, strict=True):
        _infer(group, size, sizes)
    parts = x.reshape([sizes[name] for name in names])
    moved = parts.permute([names.index(name) for name in wanted])
    return moved.reshape([prod(sizes[name] for name in group) for group in new])


def _groups(side: str, others: list[str]) -> list[list[str]]:
    """Return the names of each dimension on one side of a pattern."""
    spelled = side.replace("...", " ".join(others))
    found = re.findall(r"\(([^()]*)\)|(\S+)", spelled)
    return [[name for name in (inner + one).split() if name != "1"] for inner, one in found]


def _infer(group: list[str], size: int, sizes: dict[str, int]) -> None:
    """Infer the size of the only unknown name in the group of a dimension."""
    unknown = [name for name in group if name not in sizes]
    known = prod(sizes[name] for name in group if name in sizes)
    if len(unknown) > 1 or size % known or (not unknown and size != known):
        given = ", ".join(f"{name}={sizes.get(name, '?')}" for name in group)
        raise HidetError(f"a dimension of size {size} cannot be split into {given}")
    if unknown:
        sizes[unknown[0]] = size // known
