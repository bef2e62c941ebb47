"""Tensor map arguments of scripts, for TMA."""

import torch

from hidet.dialects.cuda.tensor_map import ALIGNMENT
from hidet.driver.plan_types import tensor_map_spec
from hidet.errors import HidetError
from hidet.frontends.script.tensor_maps import TensorMapType
from hidet.runtime.cuda_services import CudaServices
from hidet.runtime.specs import TensorMapSpec
from hidet.runtime.tensor_maps import encode_for_cpu, encode_for_gpu

MAX_KEPT = 64
"""The capacity of the cache of a parameter; a program rarely passes more tensors for it."""


class TensorMaps:
    """Encodes the tensor maps of one parameter, with a cache by address and strides."""

    def __init__(self, what: str, kind: TensorMapType) -> None:
        self._what = what
        self._type = kind.ir
        self._kept: dict[tuple[object, ...], bytes] = {}
        self._checked: set[tuple[int, ...]] = set()

    def check(self, tensor: torch.Tensor) -> None:
        """Check that TMA can access a tensor of the right type and shape, which may be fake.

        Raises:
            HidetError: it is empty, or has strides that TMA does not support.
        """
        if tensor.stride() in self._checked:
            return
        if tensor.numel() == 0:
            raise HidetError(f"{self._what} has no elements that could be copied")
        for extent, stride in zip(tensor.shape[:-1], tensor.stride()[:-1], strict=True):
            if extent > 1 and (stride * tensor.element_size() % ALIGNMENT or stride == 0):
                raise HidetError(
                    f"{self._what} has strides {tensor.stride()}, but TMA takes "
                    f"multiples of {ALIGNMENT} bytes",
                    hint="pad the rows of the tensor, or load its elements one by one",
                )
        if tensor.shape[-1] > 1 and tensor.stride(-1) != 1:
            raise HidetError(
                f"{self._what} has strides {tensor.stride()}, but the last one must be 1",
                hint="pass x.contiguous()",
            )
        self._checked.add(tensor.stride())

    def map_of(self, tensor: torch.Tensor) -> bytes:
        """Return the map of a checked tensor, of 128 bytes.

        Raises:
            HidetError: its address is misaligned for TMA.
            CudaError: the driver rejects it.
        """
        key = self._key(tensor)
        known = self._kept.get(key)
        if known is None:
            if tensor.data_ptr() % ALIGNMENT:
                raise HidetError(
                    f"{self._what} starts at an address that is no multiple of {ALIGNMENT} bytes",
                    hint="pass x.clone()",
                )
            if len(self._kept) == MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            spec, address = self._spec(tensor), tensor.data_ptr()
            if tensor.is_cuda:
                known = encode_for_gpu(CudaServices(tensor.device), spec, address)
            else:
                known = encode_for_cpu(spec, address)
            self._kept[key] = known
        return known

    @staticmethod
    def _key(tensor: torch.Tensor) -> tuple[object, ...]:
        """Return the cache key of a tensor of this type and shape."""
        return tensor.data_ptr(), tensor.stride(), tensor.device

    def _spec(self, tensor: torch.Tensor) -> TensorMapSpec:
        """Return the parameters of the map of a tensor.

        The stride of a dimension of extent 1 is irrelevant, and replaced by a valid one.
        """
        pairs = zip(tensor.shape, tensor.stride(), strict=True)
        strides = [stride if extent > 1 else ALIGNMENT for extent, stride in pairs]
        return tensor_map_spec(self._type, strides)
