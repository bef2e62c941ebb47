"""The attributes of a kernel, in both spellings that users write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias, TypeGuard, cast

from hidet.arch.chips import MAX_SHARED_BYTES
from hidet.arch.limits import MAX_CLUSTER, MAX_THREADS_PER_BLOCK, PORTABLE_CLUSTER
from hidet.errors import ScriptError
from hidet.frontends.script.launches import check_host_value
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, index_of, is_integer
from hidet.frontends.script.tracing import current
from hidet.rewriting.builder import Index as Extent


@dataclass(frozen=True)
class Attributes:
    """`attrs`: what a function of a script says about itself, `attrs.cuda.grid_dim = (m, n)`.

    Attributes:
        path: the names on the way to it.
    """

    path: tuple[str, ...] = ()

    @property
    def cuda(self) -> Attributes:
        """The attributes of CUDA."""
        return Attributes((*self.path, "cuda"))


ATTRS = Attributes()
"""What `hidet.lang` calls `attr` and `attrs`."""

KERNELS = ("cuda_kernel", "cpu_kernel")
"""The kinds of functions that are launched."""

KINDS = ("public", *KERNELS, "cuda_internal", "cpu_internal")
"""The kinds of functions."""


def set_attribute(base: Attributes, name: str, value: object) -> None:
    """Execute `attrs.cuda.grid_dim = value`.

    Raises:
        ScriptError: there is no such attribute, or it does not take the value.
    """
    key = ".".join((*base.path, name)).replace("cuda.", "cuda_")
    if key not in ATTRIBUTES:
        names = (f"attrs.{each}".replace("cuda_", "cuda.") for each in ATTRIBUTES)
        raise ScriptError(
            f"a kernel has no attribute '{'.'.join(('attrs', *base.path, name))}'",
            hint=f"there is {', '.join(names)}",
        )
    if current().is_nested:
        if key in ("func_kind", "func_name", "label"):
            return  # what a function is that others call has been read off its text
        raise ScriptError(
            f"the attribute '{name}' is one of kernels, not of functions that they call",
            hint="set it in the kernel",
        )
    if key.startswith("cuda_") and current().kind != "cuda_kernel":
        raise ScriptError(
            f"the attribute '{name}' is one of kernels of CUDA, not of a {current().kind}",
            hint="leave it out, or call a kernel that has it",
        )
    if current().insertion_point.block is not current().entry:
        raise ScriptError(
            f"the attribute '{name}' is set where the kernel decides whether it is",
            hint="set attributes at the top of the function",
        )
    field, read = ATTRIBUTES[key]
    setattr(current().shape, field, read(value))
    check_shared_bytes()


def _extents(what: str, value: object) -> tuple[Extent, ...]:
    """Return one to three extents, which the host can compute."""
    extents = cast("tuple[object, ...]", value if isinstance(value, tuple | list) else (value,))
    for extent in extents:
        if isinstance(extent, Scalar) and is_integer(extent):
            check_host_value(what, extent)
            continue
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:
            raise ScriptError(f"the {what} has the extent {describe(extent)}, not an integer")
    if not 1 <= len(extents) <= 3:
        raise ScriptError(f"the {what} has {len(extents)} extents", hint="it has one to three")
    return tuple(each if isinstance(each, int) else index_of(each) for each in extents)


def _block(value: object) -> tuple[Extent, ...]:
    """Return the extents of a block."""
    block = _extents("block", value)
    threads = prod(extent for extent in block if isinstance(extent, int))
    if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
        raise ScriptError(
            f"a block of {threads} threads", hint=f"a block has 1 to {MAX_THREADS_PER_BLOCK}"
        )
    return block


def check_shared_bytes() -> None:
    """Check that a kernel has no more shared memory than any machine.

    Raises:
        ScriptError: it has.
    """
    total = current().shared_bytes + current().shape.dynamic_bytes
    if total > MAX_SHARED_BYTES:
        raise ScriptError(
            f"the kernel has {total} bytes of shared memory by now; {MAX_SHARED_BYTES} are "
            "possible",
            hint="use smaller tiles or a narrower type",
        )


def _cluster(value: object) -> tuple[int, int, int]:
    extents = cast("tuple[object, ...]", value if isinstance(value, tuple | list) else (value,))
    x, y, z = (*(e if _is_extent(e) else 0 for e in extents), 1, 1, 1)[:3]
    if not 1 <= len(extents) <= 3 or not 1 <= x * y * z <= MAX_CLUSTER:
        raise ScriptError(
            f"a cluster of {describe(cast('object', value))} blocks",
            hint=f"it has 1 to {MAX_CLUSTER} along x, y and z together; {PORTABLE_CLUSTER} are "
            "possible on every GPU that has clusters",
        )
    return x, y, z


def _is_extent(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _plain(accepts: Callable[[object], bool], what: str, hint: str | None = None) -> _Reader:
    """Return what gives a value back that is accepted.

    Args:
        accepts: whether it is.
        what: what is wrong with it otherwise; `{}` is the value.
        hint: what would be right.
    """

    def read(value: object) -> object:
        if not accepts(value):
            raise ScriptError(what.format(describe(value)), hint=hint)
        return value

    return read


_Reader: TypeAlias = Callable[[object], object]

ATTRIBUTES: dict[str, tuple[str, _Reader]] = {
    "cuda_grid_dim": ("grid", partial(_extents, "grid")),
    "cuda_block_dim": ("block", _block),
    "cuda_min_blocks": (
        "min_blocks",
        _plain(_is_extent, "min_blocks is {}, not a positive integer"),
    ),
    "cuda_cluster_dim": ("cluster", _cluster),
    "cuda_may_alias": (
        "may_alias",
        _plain(lambda value: isinstance(value, bool), "may_alias is {}, not True or False"),
    ),
    "cuda_dynamic_smem_bytes": (
        "dynamic_bytes",
        _plain(
            _is_size,
            "dynamic_smem_bytes is {}, not a number of bytes",
            "an integer that is known when the script is defined",
        ),
    ),
    "func_name": (
        "name",
        _plain(
            lambda value: isinstance(value, str) and value.isidentifier(),
            "{} cannot be the name of a kernel",
            "a name as Python has them, in letters, digits and underscores",
        ),
    ),
    "func_kind": (
        "kind",
        _plain(
            KINDS.__contains__, "{} is no kind of functions", f"the kinds are {', '.join(KINDS)}"
        ),
    ),
    "label": (
        "label",
        _plain(
            lambda value: isinstance(value, str) and "\n" not in value,
            "a label is a line of text, not {}",
        ),
    ),
}
"""For each attribute, in the short spelling, the field of `LaunchShape` and what reads a value."""
