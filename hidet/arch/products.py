"""The MMA instructions of tensor cores, of warps and of warp groups, by name."""

from hidet.arch.hopper import WGMMA
from hidet.arch.instructions import MMA_SYNC, MmaInstruction
from hidet.errors import ScheduleError


def find_product(name: str) -> MmaInstruction | None:
    """Return an MMA instruction by its name, such as `m64n256k16_f16_f32`; None if unknown."""
    return MMA_SYNC.get(name) or WGMMA.get(name)


def product_named(name: str) -> MmaInstruction:
    """Return an MMA instruction by its name.

    Raises:
        ScheduleError: there is none.
    """
    found = find_product(name)
    if found is None:
        raise ScheduleError(
            f"there is no instruction {name!r}",
            hint=f"one of {', '.join(MMA_SYNC)}, or m64n<columns>k<16 or 8>_<type>_f32",
        )
    return found
