"""The interface of templates, which accept fusions, propose configs and build kernels.

The kernel itself is a function of hidet script (`hidet.lang`), which `build` calls with the views,
buffers, task maps and sizes of the fusion.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from xdsl.ir import Block, SSAValue

from hidet.arch.chips import Arch
from hidet.dialects.compute import FusionOp, GridOp
from hidet.frontends.script.tensors import Tensor
from hidet.frontends.script.tracing import Emitter, LaunchShape
from hidet.lowering.templates.config import Config
from hidet.lowering.templates.legality import Rejected
from hidet.lowering.templates.parts import tensor

Results = Sequence[tuple[Tensor, Tensor]]
"""The results of a fusion, each as view and output buffer."""


@dataclass(frozen=True)
class Launch:
    """The launch configuration of a kernel, with its least resident blocks per multiprocessor."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    residents: int = 1


class TemplateEmitter(Emitter):
    """Emits the IR of a template's script, located at the fusion."""

    def __init__(self, entry: Block, launch: Launch) -> None:
        super().__init__(entry)
        self.shape = LaunchShape(launch.grid, launch.block)

    def set_line(self, file: str, line: int) -> None:
        """Ignore script lines."""


@dataclass
class KernelScope:
    """The kernel under construction, and the fusion's values in it.

    Attributes:
        builder: builds at the end of the kernel; scripts use it too.
        views: maps the fusion's values to the kernel's: arguments to buffers, grids to views.
            Initially it has the arguments; the template adds the grids.
        outputs: for each result of the fusion, the yielded value (a key of `views`) and its buffer.
    """

    builder: TemplateEmitter
    views: dict[SSAValue, SSAValue]
    outputs: list[tuple[SSAValue, SSAValue]]

    def clone(self, grid: GridOp) -> SSAValue:
        """Clone a grid of the fusion into the kernel, as a view; return the view."""
        self.builder.insert(grid.clone(self.views))
        return self.views[grid.result]

    @property
    def results(self) -> Results:
        """The results of the fusion, each as view and buffer."""
        return [(tensor(self.views[value]), tensor(buffer)) for value, buffer in self.outputs]


ConfigT = TypeVar("ConfigT", bound=Config)


class Template(ABC, Generic[ConfigT]):
    """A way to build a kernel for a fusion."""

    name: ClassVar[str]
    config: ClassVar[type[Config]]
    updates_in_place: ClassVar[bool] = False
    """Whether each thread reads what it overwrites before it does so, and no other thread does."""

    @abstractmethod
    def accepts(self, fusion: FusionOp) -> bool:
        """Return whether this template can build the fusion."""

    @abstractmethod
    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[ConfigT]:
        """Return the configs worth trying, best estimate first.

        None if a less specialized template is better.
        """

    def best(self, fusion: FusionOp, arch: Arch) -> ConfigT | None:
        """Return the config with the best estimate, None without any."""
        return next(iter(self.configs(fusion, arch)), None)

    def rejected(self, fusion: FusionOp, arch: Arch) -> Sequence[Rejected]:
        """Return further configs that the architecture cannot run, with reasons."""
        return ()

    @abstractmethod
    def launch(self, fusion: FusionOp, config: ConfigT) -> Launch:
        """Return the launch configuration of the kernel."""

    @abstractmethod
    def build(self, scope: KernelScope, fusion: FusionOp, config: ConfigT) -> None:
        """Build the kernel body."""


def ceil_div(value: int, divisor: int) -> int:
    """Return the quotient rounded up."""
    return -(-value // divisor)
