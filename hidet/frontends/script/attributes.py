"""The attributes of a kernel, in both spellings that users write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from hidet.dialects.cuda.kernel import MAX_THREADS_PER_BLOCK
from hidet.dialects.cuda.names import is_identifier
from hidet.errors import ScriptError
from hidet.frontends.script.values import Scalar, describe

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

KINDS = ("cuda_kernel", "cuda_internal")
"""The kinds of functions that there are so far."""


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
    setter(emitter, value)


def _extents(what: str, value: object) -> tuple[int, ...]:
    """Return one to three positive extents."""
    extents = cast("tuple[object, ...]", value if isinstance(value, tuple | list) else (value,))
    for extent in extents:
        if isinstance(extent, Scalar):
            raise ScriptError(
                f"the {what} depends on an argument of the kernel, which is not supported yet",
                hint="use sizes that are known when the script is defined",
            )
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 0:
            raise ScriptError(f"the {what} has the extent {describe(extent)}, not an integer")
    if not 1 <= len(extents) <= 3:
        raise ScriptError(f"the {what} has {len(extents)} extents", hint="it has one to three")
    return cast("tuple[int, ...]", tuple(extents))


def _set_grid(emitter: Emitter, value: object) -> None:
    emitter.shape.grid = _extents("grid", value)


def _set_block(emitter: Emitter, value: object) -> None:
    block = _extents("block", value)
    threads = 1
    for extent in block:
        threads *= extent
    if not 1 <= threads <= MAX_THREADS_PER_BLOCK:
        raise ScriptError(
            f"a block of {threads} threads", hint=f"a block has 1 to {MAX_THREADS_PER_BLOCK}"
        )
    emitter.shape.block = block


def _set_name(emitter: Emitter, value: object) -> None:
    if not isinstance(value, str) or not is_identifier(value):
        raise ScriptError(
            f"{value!r} cannot be the name of a kernel",
            hint="a name of C++ that means nothing else there",
        )
    emitter.shape.name = value


def _set_kind(emitter: Emitter, value: object) -> None:
    if value not in KINDS:
        raise ScriptError(
            f"functions of the kind {value!r} are not supported yet",
            hint=f"there is {' and '.join(map(repr, KINDS))}",
        )
    emitter.shape.kind = str(value)


def _set_min_blocks(emitter: Emitter, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ScriptError(f"min_blocks is {describe(value)}, not a positive integer")
    emitter.shape.min_blocks = value


def _refuse(what: str, hint: str) -> Callable[[Emitter, object], None]:
    """Return the setter of an attribute that takes its neutral value only."""

    def setter(emitter: Emitter, value: object) -> None:
        several = cast("tuple[object, ...]", value if isinstance(value, tuple | list) else (value,))
        if any(extent not in (0, 1, None) for extent in several):
            raise ScriptError(f"{what} is not supported yet", hint=hint)

    return setter


SETTERS: dict[str, Callable[[Emitter, object], None]] = {
    "cuda_grid_dim": _set_grid,
    "cuda_block_dim": _set_block,
    "cuda_min_blocks": _set_min_blocks,
    "cuda_cluster_dim": _refuse("a cluster of blocks", "leave the attribute out"),
    "cuda_dynamic_smem_bytes": _refuse(
        "shared memory of a size that the launch states", "allocate it by shared_tensor"
    ),
    "func_name": _set_name,
    "func_kind": _set_kind,
}
"""What takes the value of an attribute, by its name in the short spelling."""
