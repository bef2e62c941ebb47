"""Spaces of configs: where a search begins, and what stands next to a config."""

from collections.abc import Sequence
from dataclasses import fields

from hidet.lowering.templates.config import Config


def seeds(configs: Sequence[Config], count: int) -> list[Config]:
    """Return so many configs to begin with: good estimates that are not much the same.

    The first is the cost model's. Those that follow differ from all before in two choices at
    least, while there are such; then come the best of the others.
    """
    chosen: list[Config] = []
    for apart in (2, 1):
        for each in configs:
            if len(chosen) < count and all(_differences(each, one) >= apart for one in chosen):
                chosen.append(each)
    return chosen


def _differences(one: Config, other: Config) -> int:
    """Count the choices in which two configs of one template differ."""
    return sum(getattr(one, each.name) != getattr(other, each.name) for each in fields(one))


class Space:
    """The configs of one problem.

    Args:
        configs: all of one template; their order does not matter.
    """

    def __init__(self, configs: Sequence[Config]) -> None:
        self._configs = configs
        self._values = {
            each.name: sorted({getattr(config, each.name) for config in configs})
            for each in fields(configs[0])
        }

    def neighbours(self, config: Config) -> list[Config]:
        """Return the configs a single step away.

        A step takes one choice to its next smaller or larger value. Where the space lacks exactly
        that config (a larger tile goes with other warps), the nearest one that has the value
        stands for it.
        """
        found: dict[Config, None] = {}
        for name, values in self._values.items():
            place = values.index(getattr(config, name))
            for value in (*values[max(place - 1, 0) : place], *values[place + 1 : place + 2]):
                beside = [each for each in self._configs if getattr(each, name) == value]
                found[min(beside, key=lambda each: self._distance(each, config))] = None
        return list(found)

    def _distance(self, one: Config, other: Config) -> int:
        """Count the steps between two configs."""
        return sum(
            abs(values.index(getattr(one, name)) - values.index(getattr(other, name)))
            for name, values in self._values.items()
        )
