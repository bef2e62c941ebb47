"""What a template is: it accepts fusions, proposes configs for them, and builds kernels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.ir import SSAValue

from hidet.dialects.compute import FusionOp, GridOp
from hidet.dialects.cuda import BlockIdOp, ThreadIdOp
from hidet.dialects.cuda.attributes import Dimension
from hidet.lowering.builder import KernelBuilder
from hidet.lowering.templates.arch import Arch

Config = Mapping[str, int]
"""The choices of a template for one fusion; written into the IR as the fusion's `config`."""


@dataclass(frozen=True)
class Launch:
    """The extents of grid and block that a config leads to."""

    grid: tuple[int, ...]
    block: tuple[int, ...]


@dataclass
class KernelScope:
    """What a template builds with: the builder, and the fusion's values inside the kernel.

    Attributes:
        builder: builds at the end of the kernel.
        views: the fusion's values inside the kernel: its arguments are buffers, its grids views.
            At first it holds the arguments; the template brings in the grids.
        outputs: for each result of the fusion, the yielded value (a key of `views`) and the
            buffer that it goes to.
    """

    builder: KernelBuilder
    views: dict[SSAValue, SSAValue]
    outputs: list[tuple[SSAValue, SSAValue]]

    def clone(self, grid: GridOp) -> SSAValue:
        """Bring a grid of the fusion into the kernel, as a view; return the view."""
        self.builder.insert(grid.clone(self.views))
        return self.views[grid.result]

    def block_id(self) -> SSAValue:
        """Return the number of the block in a grid of one dimension."""
        return self.builder.insert(BlockIdOp(Dimension.X)).result

    def thread_id(self) -> SSAValue:
        """Return the number of the thread in its block."""
        thread = self.builder.insert(ThreadIdOp(Dimension.X)).result
        thread.name_hint = "thread"
        return thread

    def worker(self, threads: int) -> SSAValue:
        """Return the number of the thread among all threads of a grid of one dimension."""
        builder = self.builder
        worker = builder.add(builder.mul(self.block_id(), threads), self.thread_id())
        assert isinstance(worker, SSAValue)
        worker.name_hint = "worker"
        return worker


class Template(ABC):
    """One way to make a kernel of a fusion."""

    name: ClassVar[str]

    @abstractmethod
    def accepts(self, fusion: FusionOp) -> bool:
        """Return whether this template can build the fusion."""

    @abstractmethod
    def configs(self, fusion: FusionOp, arch: Arch) -> Sequence[Config]:
        """Return the configs that are worth a try, the one with the best estimate first."""

    @abstractmethod
    def launch(self, fusion: FusionOp, config: Config) -> Launch:
        """Return the grid and the block of the kernel."""

    @abstractmethod
    def build(self, scope: KernelScope, fusion: FusionOp, config: Config) -> None:
        """Write the kernel's body."""


def ceil_div(value: int, divisor: int) -> int:
    """Return the quotient rounded up."""
    return -(-value // divisor)
