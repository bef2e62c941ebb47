"""Executes a plan on a GPU as one explicitly built CUDA Graph.

The graph has a kernel node for each launch and an edge for each dependency, so that independent
branches overlap. A programmatic edge lets a kernel start before its predecessors complete and
synchronize itself (CUDA driver API, CUgraphEdgeData). The graph is instantiated once. If a tensor
is at another address than in the last call, the nodes that use it get new parameters; nothing is
copied.

Several streams may call: CUDA orders launches of the same executable graph, whatever their streams
(CUDA driver API, cuGraphLaunch). So one arena serves all streams, and calls on different streams do
not overlap. New parameters apply to future launches only. Prepared memory is always newly allocated
and filled on the stream of the first call that uses it; later calls on other streams are ordered
after that call. Executors of other weights (`runtime.replicas`) have graphs of their own, so those
on one stream share an arena, and memory that was filled on another one is waited for.

Without a graph, each call launches kernel by kernel. Calls on different streams are not ordered
then: each change of stream allocates a new arena, and filling prepared memory is synchronized.
"""

import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from hidet.forks import FORK_HANDLERS
from hidet.runtime.arguments import ArgumentTable
from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.executor import Executor
from hidet.runtime.kernels import CudaKernel
from hidet.runtime.plan import Launch, Plan
from hidet.runtime.snapshots import Snapshots
from hidet.runtime.tensor_maps import write_for_gpu

DEFAULT_STREAM = 0
"""The handle of torch's default stream."""


class CudaGraphExecutor(Executor):
    """A plan on one GPU, which replays a CUDA Graph or else launches kernel by kernel.

    `cubins` are the binaries, by the artifact keys of the plan.
    """

    def __init__(
        self,
        plan: Plan,
        cubins: Mapping[str, bytes],
        device: torch.device,
        services: CudaServices | None = None,
        *,
        use_graph: bool = True,
        snapshots: Snapshots | None = None,
    ) -> None:
        self._use_graph = use_graph
        self._services = services or CudaServices(device)
        super().__init__(plan, device, partial(write_for_gpu, self._services), snapshots)
        # Attributes, as looking them up in the module would cost time in every call.
        self._current_stream = self._services.current_stream
        self._set_parameters = self._services.driver.cuGraphExecKernelNodeSetParams
        self._check = self._services.check
        with self._services.attach():
            self._load(cubins)
        self._start()

    def _start(self) -> None:
        super()._start()
        self._stream = -1
        self._stream_handle: Any = None
        with self._services.attach():
            self._build()
            self._graph_launch = self._snapshots.launcher(self._services, self._executable)

    def run(
        self, inputs: Sequence[torch.Tensor], constants: Iterable[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Launch the graph on the caller's current stream; see `Executor.run`."""
        if self._services.is_attached():
            return Executor.run(self, inputs, constants)
        with self._services.attach():
            return super().run(inputs, constants)

    @property
    def can_replicate(self) -> bool:
        """Whether there is a graph; without one, arguments are written in every call."""
        return self._use_graph

    def after_fork(self) -> None:
        """Do not free resources of the GPU, which a forked child process cannot access."""
        self._finalizer.detach()
        self._modules.finalizer.detach()

    def _load(self, cubins: Mapping[str, bytes]) -> None:
        keys = {kernel.artifact_key for kernel in self.plan.kernels}
        self._modules = _Modules(self._services, {key: cubins[key] for key in sorted(keys)})
        self._kernels = [
            CudaKernel(
                self._services,
                self._modules.loaded[kernel.artifact_key],
                kernel.symbol,
                kernel.shared_bytes,
                kernel.cluster,
            )
            for kernel in self.plan.kernels
        ]

    def _build(self) -> None:
        """Build and instantiate the graph; its pointers are null until the first call."""
        call = self._services.call
        graph = call("cuGraphCreate", 0)
        launches = self.plan.forward if self._use_graph else ()
        self._parameters = [
            self._node_parameters(launch, address)
            for launch, address in zip(launches, self._table.launch_addresses, strict=False)
        ]
        self._nodes: list[Any] = []
        for launch, parameters in zip(launches, self._parameters, strict=True):
            node = call("cuGraphAddKernelNode", graph, [], 0, parameters)
            before = [self._nodes[number] for number in launch.dependencies]
            if before:
                nodes, edges = [node] * len(before), [self._edge(launch)] * len(before)
                call("cuGraphAddDependencies", graph, before, nodes, edges, len(before))
            self._nodes.append(node)
        self._executable = call("cuGraphInstantiate", graph, 0)
        # The finalizer keeps the modules loaded until the graph is destroyed.
        self._finalizer = weakref.finalize(
            self, _destroy, self._services, self._executable, graph, self._modules
        )
        self._finalizer.atexit = False  # the driver may have been unloaded, which frees everything
        FORK_HANDLERS.add(self)

    def _edge(self, launch: Launch) -> Any:
        """Return the data of edges to a launch."""
        driver = self._services.driver
        edge = driver.CUgraphEdgeData()
        if launch.edges == "programmatic":
            edge.type = driver.CUgraphDependencyType.CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC
            edge.from_port = driver.CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC
        return edge

    def _node_parameters(self, launch: Launch, address: int) -> Any:
        kernel = self.plan.kernels[launch.kernel]
        parameters = self._services.driver.CUDA_KERNEL_NODE_PARAMS()
        parameters.func = self._kernels[launch.kernel].function
        parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ = kernel.grid
        parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ = kernel.block
        parameters.sharedMemBytes = kernel.shared_bytes
        parameters.kernelParams = address
        return parameters

    def is_bound(self, constants: Iterable[torch.Tensor]) -> bool:
        """Return whether launches are bound to these constants, and to the stream of this call."""
        # super() takes 50 ns.
        return self._current_stream() == self._stream and Executor.is_bound(self, constants)

    def _bind_constants(
        self, constants: Sequence[torch.Tensor], copied: list[torch.Tensor]
    ) -> None:
        stream = self._services.current_stream()
        if stream != self._stream:
            self._stream_handle = self._services.driver.CUstream(stream)
            if not self._use_graph:
                self._arenas.clear()
        self._stream = -1
        super()._bind_constants(constants, copied)
        self._stream = stream
        if self._has_replicas and self._weights and self._weights.stream != stream:
            self._services.call("cuCtxSynchronize")  # launches of another graph may have filled it
        # The memory may have been allocated on another stream.
        memory = [self._arena, self._weights and self._weights.prepared]
        if stream != DEFAULT_STREAM:  # on which weights are usually allocated
            memory += constants
        for tensor in memory:
            if tensor is not None:
                self._services.keep_until_done(tensor)

    def _prepare(self, constants: Sequence[torch.Tensor]) -> torch.Tensor:
        prepared = super()._prepare(constants)
        if not self._nodes:
            # There is no graph whose launches order other streams after this one.
            self._services.call("cuStreamSynchronize", self._stream_handle)
        return prepared

    def _stream_of_call(self) -> int:
        return self._current_stream()

    def _allocate(self, size: int) -> torch.Tensor:
        return self._services.allocate(size)

    def _launch(self) -> None:
        if not self._use_graph:
            self._launch_in_order(self.plan.forward, self._table)
            return
        outdated = self._table.outdated
        for number in sorted(outdated) if outdated else ():
            status = self._set_parameters(
                self._executable, self._nodes[number], self._parameters[number]
            )
            self._check("cuGraphExecKernelNodeSetParams", status)
            outdated.remove(number)
        if self._nodes and (status := self._graph_launch(self._stream)):
            self._check("cuGraphLaunch", (self._services.driver.CUresult(status),))

    def _launch_in_order(self, launches: Sequence[Launch], table: ArgumentTable) -> None:
        for launch, address in zip(launches, table.launch_addresses, strict=True):
            kernel = self.plan.kernels[launch.kernel]
            call = self._kernels[launch.kernel].launch_on
            call(self._stream_handle, address, kernel.grid, kernel.block)


class _Modules:
    """Modules of kernels that are loaded; replicas share them."""

    def __init__(self, services: CudaServices, cubins: Mapping[str, bytes]) -> None:
        self.loaded = {key: services.call("cuModuleLoadData", cubins[key]) for key in cubins}
        self.finalizer = weakref.finalize(self, _unload, services, list(self.loaded.values()))
        self.finalizer.atexit = False


def _destroy(services: CudaServices, executable: Any, graph: Any, _: _Modules) -> None:
    """Free a graph after synchronization."""
    with services.attach():
        services.call("cuCtxSynchronize")
        services.call("cuGraphExecDestroy", executable)
        services.call("cuGraphDestroy", graph)


def _unload(services: CudaServices, modules: list[Any]) -> None:
    """Unload modules, none of whose kernels runs any more."""
    with services.attach():
        for module in modules:
            services.call("cuModuleUnload", module)
