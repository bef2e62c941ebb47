"""The attributes of a kernel, `attrs.cuda.grid_dim` and `attrs.cuda_grid_dim`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TypeAlias, TypeGuard

from hidet.arch.limits import MAX_CLUSTER, MAX_THREADS_PER_BLOCK, PORTABLE_CLUSTER
from hidet.errors import ScriptError
from hidet.frontends.script.launches import check_host_value
from hidet.frontends.script.messages import describe
from hidet.frontends.script.scalars import Scalar, index_of, is_integer
from hidet.frontends.script.tracing import current
from hidet.frontends.script.types import as_tuple
from hidet.rewriting.builder import Index as Extent


@dataclass(frozen=True)
class Attributes:
    """`attrs`: the attributes of the function, `attrs.cuda.grid_dim = (m, n)`."""

    path: tuple[str, ...] = ()

    @property
    def cuda(self) -> "Attributes":
        """The attributes of CUDA kernels."""
        return Attributes((*self.path, "cuda"))


ATTRS = Attributes()
"""`attr` and `attrs` of `hidet.lang`."""

KERNELS = ("cuda_kernel", "cpu_kernel")
"""The kinds of functions that are launched."""

KINDS = ("public", *KERNELS, "cuda_internal", "cpu_internal")


def set_attribute(base: Attributes, name: str, value: object) -> None:
    """Execute `attrs.cuda.grid_dim = value`."""
    key = ".".join((*base.path, name)).replace("cuda.", "cuda_")
    if key not in ATTRIBUTES:
        names = (f"attrs.{each}".replace("cuda_", "cuda.") for each in ATTRIBUTES)
        raise ScriptError(
            f"a kernel has no attribute '{'.'.join(('attrs', *base.path, name))}'",
            hint=f"there is {', '.join(names)}",
        )
    if current().is_nested:
        if key in ("func_kind", "func_name", "label"):
            return  # `ScriptFunction.kind` has read it
        raise ScriptError(
            f"the attribute '{name}' belongs to kernels, not to their callees",
            hint="set it in the kernel",
        )
    if key.startswith("cuda_") and current().kind != "cuda_kernel":
        raise ScriptError(
            f"the attribute '{name}' belongs to CUDA kernels, not to a {current().kind}",
            hint="leave it out, or call a kernel that has it",
        )
    if current().insertion_point.block is not current().entry:
        raise ScriptError(
            f"the attribute '{name}' is set under run-time control flow",
            hint="set attributes at the top of the function",
        )
    setattr(current().shape, key.removeprefix("cuda_"), ATTRIBUTES[key](value))
    current().check_shared_bytes()


def _extents(what: str, value: object) -> tuple[Extent, ...]:
    """Return one to three extents that the host can compute."""
    extents = as_tuple(value)
    for extent in extents:
        if isinstance(extent, Scalar) and is_integer(extent):
            check_host_value(what, extent)
        elif not _is_extent(extent, least=0):
            raise ScriptError(
                f"an extent of the {what} is {describe(extent)}, not an integer",
                hint="cdiv(a, b) rounds a quotient up, a // b rounds it down",
            )
    if not 1 <= len(extents) <= 3:
        raise ScriptError(f"the {what} has {len(extents)} extents", hint="it has one to three")
    return tuple(each if isinstance(each, int) else index_of(each) for each in extents)


def _block(value: object) -> tuple[Extent, ...]:
    block = _extents("block", value)
    threads = prod(extent for extent in block if isinstance(extent, int))
    if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
        raise ScriptError(
            f"a block of {threads} threads", hint=f"a block has 1 to {MAX_THREADS_PER_BLOCK}"
        )
    return block


def _cluster(value: object) -> tuple[int, int, int]:
    extents = as_tuple(value)
    x, y, z = (*(e if _is_extent(e) else 0 for e in extents), 1, 1, 1)[:3]
    if not 1 <= len(extents) <= 3 or not 1 <= x * y * z <= MAX_CLUSTER:
        raise ScriptError(
            f"a cluster of {describe(value)} blocks",
            hint=f"it has 1 to {MAX_CLUSTER} blocks; {PORTABLE_CLUSTER} are portable",
        )
    return x, y, z


def _is_extent(value: object, least: int = 1) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


_Reader: TypeAlias = Callable[[object], object]


def _plain(accepts: Callable[[object], bool], what: str, hint: str | None = None) -> _Reader:
    """Return a reader that accepts some values; `{}` in the error `what` is the value."""

    def read(value: object) -> object:
        if not accepts(value):
            raise ScriptError(what.format(describe(value)), hint=hint)
        return value

    return read


ATTRIBUTES: dict[str, _Reader] = {
    "cuda_grid_dim": partial(_extents, "grid"),
    "cuda_block_dim": _block,
    "cuda_min_blocks": _plain(_is_extent, "min_blocks is {}, not a positive integer"),
    "cuda_cluster_dim": _cluster,
    "cuda_may_alias": _plain(
        lambda value: isinstance(value, bool), "may_alias is {}, not True or False"
    ),
    "cuda_dynamic_smem_bytes": _plain(
        partial(_is_extent, least=0),
        "dynamic_smem_bytes is {}, not a number of bytes",
        "a compile-time integer",
    ),
    "func_name": _plain(
        lambda value: isinstance(value, str) and value.isidentifier(),
        "{} cannot be the name of a kernel",
        "a Python identifier",
    ),
    "func_kind": _plain(
        KINDS.__contains__, "{} is no kind of functions", f"the kinds are {', '.join(KINDS)}"
    ),
    "label": _plain(
        lambda value: isinstance(value, str) and "\n" not in value,
        "a label is a line of text, not {}",
    ),
}
"""The reader of the values of each attribute, for the field of `LaunchShape` of its name."""
