"""Template configs, as values and as IR attributes."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Self, get_type_hints

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute

from hidet.dialects.cuda import KernelOp
from hidet.errors import ScheduleError

MAX_CHOICE = 1 << 16
"""The largest integer of a config."""

BLOCKED, STRIPED, TRANSPOSED = "blocked", "striped", "transposed"
"""The arrangements of FMA tiles: a thread owns a contiguous block of the result, adjacent threads
own adjacent elements or vectors, and as the latter, but operand tiles are contiguous along M and N,
even if their sources are contiguous along K."""

COOPERATIVE, PINGPONG = "cooperative", "pingpong"
"""How the warp groups of a persistent block share its tiles: all compute each tile, or two take
turns, so that one multiplies while the other stores (CUTLASS, sm90_gemm_tma_warpspecialized)."""

VECTOR = 16
"""The bytes of a vector access to shared memory, and of the padding of rows of transposed tiles."""


@dataclass(frozen=True)
class Config:
    """The parameters of a template, as integers and strings.

    In the IR they are the `config` of a fusion or of its kernel: `{template = "row", lanes = 32}`.
    Default values are omitted.
    """

    def attribute(self, template: str) -> DictionaryAttr:
        """Return the config as an attribute."""
        entries: dict[str, Attribute] = {"template": StringAttr(template)}
        for each in fields(self):
            value = getattr(self, each.name)
            if value == each.default:
                continue
            is_name = isinstance(value, str)
            entries[each.name] = StringAttr(value) if is_name else IntegerAttr(value, i64)
        return DictionaryAttr(entries)

    @classmethod
    def read(cls, attribute: DictionaryAttr) -> Self:
        """Return the config of an attribute."""
        entries = {key: value for key, value in attribute.data.items() if key != "template"}
        kinds = get_type_hints(cls)
        wanted = {each.name for each in fields(cls) if each.default is MISSING}
        if not wanted <= set(entries) <= set(kinds):
            raise ScheduleError(
                f"the config {attribute} does not have the parameters of the template",
                hint=f"they are {', '.join(kinds)}",
            )
        values: dict[str, int | str] = {}
        for name in entries:
            kind = kinds[name]
            match entries[name]:
                case IntegerAttr() as number if kind is int:
                    values[name] = number.value.data
                    if not 0 < number.value.data <= MAX_CHOICE:
                        raise ScheduleError(
                            f"{name} of the config {attribute} is {number.value.data}",
                            hint=f"it is a count, from 1 to {MAX_CHOICE}",
                        )
                case StringAttr() as text if kind is str:
                    values[name] = text.data
                case _:
                    what = "integer" if kind is int else "name"
                    raise ScheduleError(f"{name} of the config {attribute} is no {what}")
        return cls(**values)


def choices_of(kernel: KernelOp) -> Mapping[str, int | str]:
    """Return the parameters in the `config` of a kernel."""
    config = kernel.attributes.get("config")
    found: dict[str, int | str] = {}
    for name, value in config.data.items() if isinstance(config, DictionaryAttr) else ():
        if isinstance(value, StringAttr):
            found[name] = value.data
        elif isinstance(value, IntegerAttr):
            found[name] = value.value.data
    return found


def template_of(attribute: DictionaryAttr) -> str:
    """Return the template name of a config."""
    name = attribute.data.get("template")
    if not isinstance(name, StringAttr):
        raise ScheduleError(f"the config {attribute} names no template")
    return name.data
