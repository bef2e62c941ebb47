"""The target that a program is compiled for."""

from dataclasses import dataclass, replace
from typing import Any, cast

import torch

from hidet.arch.chips import Arch
from hidet.backend.cache import Store
from hidet.backend.toolchains import Gxx, Nvcc, Toolchain
from hidet.driver.options import CompileOptions
from hidet.errors import OptionError


def find_target(device: torch.device, options: CompileOptions) -> str:
    """Return "cpu", or an architecture of GPUs: that of the options, else the device's own.

    From compute capability 9.0 on, architecture-specific instructions need the variant with an "a"
    (sm_90a; CUDA C++ Programming Guide, compute capabilities).

    Raises:
        OptionError: the option `target` contradicts the device, or the device is not supported.
    """
    kind = device.type if options.target == "auto" else options.target
    if device.type not in ("cpu", "cuda") or kind != device.type:
        raise OptionError(
            f"a program on device '{device}' cannot be compiled for target '{options.target}'",
            hint="tensors are on the CPU or a CUDA device, the option 'target' says auto or which",
        )
    if kind == "cpu":
        return "cpu"
    if options.arch != "auto":
        return options.arch
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}{'a' if major >= 9 else ''}"


def find_arch(device: torch.device, options: CompileOptions) -> Arch:
    """Return the architecture that schedules are for, with the properties of the device.

    These are queried only if no option names an architecture.

    Raises:
        OptionError: as `find_target`; or the architecture is unknown.
    """
    arch = Arch.parse(find_target(device, options))
    if arch.is_cpu or options.arch != "auto":
        return arch
    found = cast("Any", torch.cuda.get_device_properties(device))
    return replace(arch, processors=found.multi_processor_count, l2_bytes=found.L2_cache_size)


def find_toolchain(device: torch.device, options: CompileOptions) -> Toolchain:
    """Return the compiler of kernels for a device.

    Raises:
        OptionError: as `find_target`; or the option `strict` is set for a GPU.
    """
    target = find_target(device, options)
    if target == "cpu":
        return Gxx(strict=options.strict)
    if options.strict:
        raise OptionError(
            f"the option 'strict' is for kernels on the CPU, and these run on '{device}'",
            hint="call them with tensors on the CPU; compute-sanitizer checks kernels on a GPU",
        )
    return Nvcc(target)


@dataclass(frozen=True)
class Target:
    """The target of a compilation; `device` is where the tuner measures candidates."""

    toolchain: Toolchain
    arch: Arch
    options: CompileOptions
    store: Store
    device: str

    @staticmethod
    def of(device: torch.device, options: CompileOptions) -> "Target":
        """Return the target of programs for a device; for errors see `find_toolchain`."""
        toolchain, arch = find_toolchain(device, options), find_arch(device, options)
        return Target(toolchain, arch, options, options.store(), str(device))
