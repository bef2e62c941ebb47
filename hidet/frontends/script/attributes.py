"""The attributes of a kernel, in both spellings that users write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeGuard, cast

from hidet.arch.chips import MAX_SHARED_BYTES
from hidet.arch.limits import MAX_CLUSTER, MAX_THREADS_PER_BLOCK, PORTABLE_CLUSTER
from hidet.errors import ScriptError
from hidet.frontends.script.launches import check_host_value
from hidet.frontends.script.types import INDEX
from hidet.frontends.script.values import Index, Scalar, describe

if TYPE_CHECKING:
    from hidet.frontends.script.emitter import Emitter


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


def set_attribute(emitter: Emitter, base: Attributes, name: str, value: object) -> None:
    """Execute `attrs.cuda.grid_dim = value`.

    Raises:
        ScriptError: there is no such attribute, or it does not take the value.
    """
    key = ".".join((*base.path, name)).replace("cuda.", "cuda_")
    setter = SETTERS.get(key)
    if setter is None:
        raise ScriptError(
            f"a kernel has no attribute '{'.'.join(('attrs', *base.path, name))}'",
            hint=f"there is {', '.join('attrs.' + n.replace('cuda_', 'cuda.') for n in SETTERS)}",
        )
    if emitter.is_nested:
        if key in ("func_kind", "func_name", "label"):
            return  # what a function is that others call has been read off its text
        raise ScriptError(
            f"the attribute '{name}' is one of kernels, not of functions that they call",
            hint="set it in the kernel",
        )
    if key.startswith("cuda_") and emitter.kind != "cuda_kernel":
        raise ScriptError(
            f"the attribute '{name}' is one of kernels of CUDA, not of a {emitter.kind}",
            hint="leave it out, or call a kernel that has it",
        )
    if emitter.insertion_point.block is not emitter.entry:
        raise ScriptError(
            f"the attribute '{name}' is set where the kernel decides whether it is",
            hint="set attributes at the top of the function",
        )
    setter(emitter, value)


def _extents(emitter: Emitter, what: str, value: object) -> tuple[Index, ...]:
    """Return one to three extents, which the host can compute."""
    extents = cast("tuple[object, ...]", value if isinstance(value, tuple | list) else (value,))
    for extent in extents:
        if isinstance(extent, Scalar) and extent.type.is_integer:
            check_host_value(what, extent)
            continue
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:
            raise ScriptError(f"the {what} has the extent {describe(extent)}, not an integer")
    if not 1 <= len(extents) <= 3:
        raise ScriptError(f"the {what} has {len(extents)} extents", hint="it has one to three")
    known = cast("tuple[Index, ...]", tuple(extents))
    return tuple(
        emitter.cast(extent, INDEX) if isinstance(extent, Scalar) else extent for extent in known
    )


def _set_grid(emitter: Emitter, value: object) -> None:
    emitter.shape.grid = _extents(emitter, "grid", value)


def _set_block(emitter: Emitter, value: object) -> None:
    block = _extents(emitter, "block", value)
    threads = prod(extent for extent in block if isinstance(extent, int))
    if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
        raise ScriptError(
            f"a block of {threads} threads", hint=f"a block has 1 to {MAX_THREADS_PER_BLOCK}"
        )
    emitter.shape.block = block


def _set_name(emitter: Emitter, value: object) -> None:
    if not isinstance(value, str) or not value.isidentifier():
        raise ScriptError(
            f"{value!r} cannot be the name of a kernel",
            hint="a name as Python has them, in letters, digits and underscores",
        )
    emitter.shape.name = value


def _set_label(emitter: Emitter, value: object) -> None:
    if not isinstance(value, str) or "\n" in value:
        raise ScriptError(f"a label is a line of text, not {describe(value)}")
    emitter.shape.label = value


def _set_kind(emitter: Emitter, value: object) -> None:
    if value not in KINDS:
        raise ScriptError(
            f"there is no kind of functions {value!r}", hint=f"there is {', '.join(KINDS)}"
        )
    emitter.shape.kind = str(value)


def _set_min_blocks(emitter: Emitter, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ScriptError(f"min_blocks is {describe(value)}, not a positive integer")
    emitter.shape.min_blocks = value


def _set_may_alias(emitter: Emitter, value: object) -> None:
    if not isinstance(value, bool):
        raise ScriptError(f"may_alias is {describe(value)}, not True or False")
    emitter.shape.may_alias = value


def _set_dynamic_bytes(emitter: Emitter, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ScriptError(
            f"dynamic_smem_bytes is {describe(value)}, not a number of bytes",
            hint="an integer that is known when the script is defined",
        )
    emitter.shape.dynamic_bytes = value
    check_shared_bytes(emitter)


def check_shared_bytes(emitter: Emitter) -> None:
    """Check that a kernel has no more shared memory than any machine.

    Raises:
        ScriptError: it has.
    """
    total = emitter.shared_bytes + emitter.shape.dynamic_bytes
    if total > MAX_SHARED_BYTES:
        raise ScriptError(
            f"the kernel has {total} bytes of shared memory by now; {MAX_SHARED_BYTES} are "
            "possible",
            hint="use smaller tiles or a narrower type",
        )


def _set_cluster(emitter: Emitter, value: object) -> None:
    extents = cast("tuple[object, ...]", value if isinstance(value, tuple | list) else (value,))
    x, y, z = (*(e if _is_extent(e) else 0 for e in extents), 1, 1, 1)[:3]
    if not 1 <= len(extents) <= 3 or not 1 <= x * y * z <= MAX_CLUSTER:
        raise ScriptError(
            f"a cluster of {describe(cast('object', value))} blocks",
            hint=f"it has 1 to {MAX_CLUSTER} along x, y and z together; {PORTABLE_CLUSTER} are "
            "possible on every GPU that has clusters",
        )
    emitter.shape.cluster = x, y, z


def _is_extent(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


SETTERS: dict[str, Callable[[Emitter, object], None]] = {
    "cuda_grid_dim": _set_grid,
    "cuda_block_dim": _set_block,
    "cuda_min_blocks": _set_min_blocks,
    "cuda_cluster_dim": _set_cluster,
    "cuda_may_alias": _set_may_alias,
    "cuda_dynamic_smem_bytes": _set_dynamic_bytes,
    "func_name": _set_name,
    "func_kind": _set_kind,
    "label": _set_label,
}
"""What takes the value of an attribute, by its name in the short spelling."""
