"""Runs a plan on a GPU as one CUDA Graph, built launch by launch from the plan.

The graph has a kernel node for each launch and an edge for each dependency, so that independent
branches overlap. It is instantiated once. Where a tensor is at another address than in the last
call, the nodes that use it get new parameters; nothing is copied.

Several streams may call: CUDA orders each launch of an executable graph behind the previous launch
of the same one, whatever their streams (CUDA driver API, cuGraphLaunch). So one arena serves all
streams, and calls on different streams do not overlap. New parameters concern future launches only.
Prepared memory is always new memory, filled on the stream of the first call that uses it; later
calls on other streams come after that call, hence after the filling.

On request there is no graph, and each call launches kernel by kernel. Then nothing orders the calls
of different streams: each change of stream takes a new arena, and prepared memory is waited for.
"""

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from hidet.arch.limits import STATIC_SHARED_BYTES
from hidet.forks import FAMILY
from hidet.runtime.addresses import Addresses
from hidet.runtime.arguments import ArgumentTable
from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.executor import Executor
from hidet.runtime.plan import Kernel, Launch, Plan

DEFAULT_STREAM = 0
"""The handle of the stream that torch takes where nobody asks for another."""


class CudaGraphExecutor(Executor):
    """A plan on one GPU.

    Args:
        plan: what to run.
        cubins: for each artifact key of the plan the compiled code.
        device: the GPU, with its index.
        services: the driver and torch's streams; made for the device if it is not given.
        use_graph: replay a CUDA Graph; otherwise launch kernel by kernel.
        addresses: what compares the addresses of the weights.
    """

    def __init__(
        self,
        plan: Plan,
        cubins: Mapping[str, bytes],
        device: torch.device,
        services: CudaServices | None = None,
        *,
        use_graph: bool = True,
        addresses: Addresses | None = None,
    ) -> None:
        super().__init__(plan, device, addresses)
        self._use_graph = use_graph
        self._services = services or CudaServices(device)
        with self._services.attach():
            self._load(cubins)
            self._build()
        self._stream = -1
        self._stream_handle: Any = None
        # For the path of every call, without a look-up in the module.
        self._graph_launch = self._services.driver.cuGraphLaunch
        self._set_parameters = self._services.driver.cuGraphExecKernelNodeSetParams
        self._check = self._services.check

    def run(
        self, inputs: Sequence[torch.Tensor], constants: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Put the graph on the caller's current stream; see `Executor.run`."""
        if self._services.is_attached():
            return super().run(inputs, constants)
        with self._services.attach():
            return super().run(inputs, constants)

    def after_fork(self) -> None:
        """Leave to the parent what it has on the GPU, which a child cannot reach."""
        self._finalizer.detach()

    def _load(self, cubins: Mapping[str, bytes]) -> None:
        """Load the kernels into the GPU's context."""
        call = self._services.call
        keys = {kernel.artifact_key for kernel in self.plan.kernels}
        self._modules = {key: call("cuModuleLoadData", cubins[key]) for key in sorted(keys)}
        self._functions = [self._function(kernel) for kernel in self.plan.kernels]

    def _function(self, kernel: Kernel) -> Any:
        call, driver = self._services.call, self._services.driver
        module = self._modules[kernel.artifact_key]
        function = call("cuModuleGetFunction", module, kernel.symbol.encode())
        if kernel.shared_bytes > STATIC_SHARED_BYTES:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", function, attribute, kernel.shared_bytes)
        return function

    def _build(self) -> None:
        """Make the graph and instantiate it; its pointers are null until the first call."""
        call = self._services.call
        graph = call("cuGraphCreate", 0)
        launches = self.plan.forward if self._use_graph else ()
        self._parameters = [
            self._node_parameters(launch, address)
            for launch, address in zip(launches, self._table.launch_addresses, strict=False)
        ]
        self._nodes: list[Any] = []
        for launch, parameters in zip(launches, self._parameters, strict=True):
            before = [self._nodes[number] for number in launch.dependencies]
            self._nodes.append(call("cuGraphAddKernelNode", graph, before, len(before), parameters))
        self._executable = call("cuGraphInstantiate", graph, 0)
        self._finalizer = weakref.finalize(
            self, _release, self._services, self._executable, graph, list(self._modules.values())
        )
        self._finalizer.atexit = False  # the driver may be gone by then, and frees all itself
        FAMILY.add(self)

    def _node_parameters(self, launch: Launch, address: int) -> Any:
        kernel = self.plan.kernels[launch.kernel]
        parameters = self._services.driver.CUDA_KERNEL_NODE_PARAMS()
        parameters.func = self._functions[launch.kernel]
        parameters.gridDimX, parameters.gridDimY, parameters.gridDimZ = kernel.grid
        parameters.blockDimX, parameters.blockDimY, parameters.blockDimZ = kernel.block
        parameters.sharedMemBytes = kernel.shared_bytes
        parameters.kernelParams = address
        return parameters

    def _is_ready(self, constants: Sequence[torch.Tensor]) -> bool:
        return self._services.current_stream() == self._stream and super()._is_ready(constants)

    def _bind_constants(
        self, constants: Sequence[torch.Tensor], copied: list[torch.Tensor]
    ) -> None:
        stream = self._services.current_stream()
        if stream != self._stream:
            self._stream_handle = self._services.driver.CUstream(stream)
            if not self._use_graph:
                self._arena = None
        self._stream = -1
        super()._bind_constants(constants, copied)
        self._stream = stream
        # The stream may be another one than that which this memory was allocated on.
        memory = [self._arena, self._weights and self._weights.prepared]
        if stream != DEFAULT_STREAM:  # where weights are made, as a rule
            memory += constants
        for tensor in memory:
            if tensor is not None:
                self._services.keep_until_done(tensor)

    def _prepare(self, constants: Sequence[torch.Tensor]) -> torch.Tensor:
        prepared = super()._prepare(constants)
        if not self._nodes:
            # No launch of the graph will put other streams behind this one.
            self._services.call("cuStreamSynchronize", self._stream_handle)
        return prepared

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
        if self._nodes:
            self._check("cuGraphLaunch", self._graph_launch(self._executable, self._stream_handle))

    def _launch_in_order(self, launches: Sequence[Launch], table: ArgumentTable) -> None:
        for launch, address in zip(launches, table.launch_addresses, strict=True):
            kernel = self.plan.kernels[launch.kernel]
            self._services.call(
                "cuLaunchKernel",
                self._functions[launch.kernel],
                *kernel.grid,
                *kernel.block,
                kernel.shared_bytes,
                self._stream_handle,
                address,
                0,
            )


def _release(services: CudaServices, executable: Any, graph: Any, modules: list[Any]) -> None:
    """Free what the driver holds, once nothing of it runs any more."""
    with services.attach():
        services.call("cuCtxSynchronize")
        services.call("cuGraphExecDestroy", executable)
        services.call("cuGraphDestroy", graph)
        for module in modules:
            services.call("cuModuleUnload", module)
