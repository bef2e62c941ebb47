"""Search spaces of configs: initial candidates and neighbors."""

from collections.abc import Sequence
from dataclasses import fields

from hidet.lowering.templates.config import Config


def seeds(configs: Sequence[Config], count: int) -> list[Config]:
    """Return initial candidates with good estimates that differ from each other.

    The first is the cost model's choice. The next ones differ from all earlier ones in at least two
    fields, while there are such; the best of the others follow.
    """
    chosen: list[Config] = []
    for apart in (2, 1):
        for each in configs:
            if len(chosen) < count and all(_differences(each, one) >= apart for one in chosen):
                chosen.append(each)
    return chosen


def _differences(one: Config, other: Config) -> int:
    """Count the fields in which two configs of one template differ."""
    return sum(getattr(one, each.name) != getattr(other, each.name) for each in fields(one))


class Space:
    """The configs of one problem, all of one template."""

    def __init__(self, configs: Sequence[Config]) -> None:
        self._configs = configs
        self._values = {
            each.name: sorted({getattr(config, each.name) for config in configs})
            for each in fields(configs[0])
        }

    def neighbors(self, config: Config) -> list[Config]:
        """Return the configs that differ by one step.

        A step changes one field to its next smaller or larger value. If the space lacks that config
        (a larger tile needs other warps), the nearest one with this value replaces it.
        """
        found: dict[Config, None] = {}
        for name, values in self._values.items():
            at = values.index(getattr(config, name))
            for value in (*values[max(at - 1, 0) : at], *values[at + 1 : at + 2]):
                beside = [each for each in self._configs if getattr(each, name) == value]
                found[min(beside, key=lambda each: self._distance(each, config))] = None
        return list(found)

    def _distance(self, one: Config, other: Config) -> int:
        """Count the steps between two configs."""
        return sum(
            abs(values.index(getattr(one, name)) - values.index(getattr(other, name)))
            for name, values in self._values.items()
        )
