"""What a template is: it accepts fusions, proposes configs for them, and builds kernels.

What a kernel does is a function of hidet script (`hidet.lang`), which `build` calls with what it
has found out about the fusion: views, buffers, task mappings and sizes.
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
"""Results of a fusion: for each its view in the kernel, and the buffer that it goes to."""


@dataclass(frozen=True)
class Launch:
    """The extents of grid and block that a config leads to.

    Attributes:
        grid: how many blocks there are.
        block: how many threads one has.
        residents: how many blocks share a multiprocessor at least.
    """

    grid: tuple[int, ...]
    block: tuple[int, ...]
    residents: int = 1


class TemplateEmitter(Emitter):
    """Writes the IR of a template's script; its ops are about the fusion, not about the script."""

    def __init__(self, entry: Block, launch: Launch) -> None:
        super().__init__(entry)
        self.operation_insertion_handler = []
        self.shape = LaunchShape(launch.grid, launch.block)

    def set_line(self, file: str, line: int) -> None:
        """Do nothing: the kernel has the location of the fusion."""


@dataclass
class KernelScope:
    """What a template builds with: the kernel, and the fusion's values inside of it.

    Attributes:
        builder: builds at the end of the kernel; while a template builds, scripts write there too.
        views: the fusion's values inside the kernel: its arguments are buffers, its grids views.
            At first it holds the arguments; the template brings in the grids.
        outputs: for each result of the fusion, the yielded value (a key of `views`) and the
            buffer that it goes to.
    """

    builder: TemplateEmitter
    views: dict[SSAValue, SSAValue]
    outputs: list[tuple[SSAValue, SSAValue]]

    def clone(self, grid: GridOp) -> SSAValue:
        """Bring a grid of the fusion into the kernel, as a view; return the view."""
        self.builder.insert(grid.clone(self.views))
        return self.views[grid.result]

    @property
    def results(self) -> Results:
        """For each result of the fusion its view in the kernel, and the buffer that it goes to."""
        return [(tensor(self.views[value]), tensor(buffer)) for value, buffer in self.outputs]


ConfigT = TypeVar("ConfigT", bound=Config)


class Template(ABC, Generic[ConfigT]):
    """One way to make a kernel of a fusion.

    Attributes:
        name: what configs call it.
        config: the type of its configs.
    """

    name: ClassVar[str]
    config: ClassVar[type[Config]]

    @abstractmethod
    def accepts(self, fusion: FusionOp) -> bool:
        """Return whether this template can build the fusion."""

    @abstractmethod
    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[ConfigT]:
        """Return the configs that are worth a try, the one with the best estimate first.

        None where a template that is less special does better.
        """

    def rejected(self, fusion: FusionOp, arch: Arch) -> Sequence[Rejected]:
        """Return the configs that would be among them if the machine could run them, with why."""
        return ()

    @abstractmethod
    def launch(self, fusion: FusionOp, config: ConfigT) -> Launch:
        """Return the grid and the block of the kernel."""

    @abstractmethod
    def build(self, scope: KernelScope, fusion: FusionOp, config: ConfigT) -> None:
        """Write the kernel's body."""


def ceil_div(value: int, divisor: int) -> int:
    """Return the quotient rounded up."""
    return -(-value // divisor)
