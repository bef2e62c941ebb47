"""g++: compiles kernels to a shared library for the CPU."""

import functools
import os
import platform
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from hidet.backend.toolchains.base import Toolchain, compiler_version
from hidet.backend.toolchains.processes import Processes
from hidet.errors import CompilerNotFoundError

INSTALL_HINT = "install g++ 11 or later (Debian, Ubuntu: apt install g++), or name it in CXX"
OLDEST_VERSION = 11

COMMON_OPTIONS = (
    "-shared",
    "-fPIC",
    "-std=c++20",
    "-O3",
    "-march=native",
    "-fopenmp",
    # Floating point: contract a * b + c, and ignore errno and traps. Everything else is exact: no
    # reassociation, and NaN and infinity are respected. (-fwrapv is omitted: indices do not
    # overflow, and loops over them vectorize.)
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    # Memory is accessed as several types: views, and overlapping parts of shared memory.
    "-fno-strict-aliasing",
    # Only launch functions are exported, so everything else can be inlined.
    "-fvisibility=hidden",
    "-ftls-model=local-dynamic",
    # The stack of a fiber has 64 KiB.
    "-Werror=frame-larger-than=49152",
    # `#pragma unroll` is for nvcc. g++ unrolls register tiles by itself; unrolling everything that
    # nvcc has to (`#pragma GCC unroll`) makes convolutions up to 50% slower.
    "-Wno-unknown-pragmas",
)

X86_OPTIONS = (
    # Register tiles of 4 columns become 4 lanes. With wider vectors, g++ 12 packs several rows into
    # one by shuffles that cost three times the arithmetic.
    "-mprefer-vector-width=128",
    # Fibers switch stacks, which is incompatible with a shadow stack.
    "-fcf-protection=none",
)

STRICT_OPTIONS = (
    "-DHIDET_STRICT",
    # Checks cost more than arithmetic, so compile time matters more.
    "-O1",
    # Bounds of arrays are checked, so they must not be assumed.
    "-fno-aggressive-loop-optimizations",
)

LOAD = f"import sys, _ctypes; _ctypes.dlopen(sys.argv[1], {os.RTLD_NOW})"
LOAD_COMMAND = (sys.executable, "-I", "-S", "-c", LOAD)
"""Loads a library in a separate process, which may crash."""

# The fields of /proc/cpuinfo about the model and the instructions, on x86-64 and aarch64.
_CPU_FIELDS = (
    "vendor_id|cpu family|model|model name|stepping|flags|"
    "CPU implementer|CPU architecture|CPU variant|CPU part|CPU revision|Features"
)


@dataclass(frozen=True)
class Gxx(Toolchain):
    """g++ for the processor of this machine.

    Args:
        path: the compiler; None: CXX, else g++ from PATH.
        check: enable the checks of HIDET_CHECK: the alignment of vector copies, and dynamic shared
            memory initialized with NaN.
        late_copies: asynchronous copies complete as late as their waits allow, not immediately.
        strict: all checks of HIDET_STRICT, with both of the above: threads run in a seeded random
            order, and the checks of `instrument-memory` are enabled.
    """

    path: Path | None = None
    check: bool = False
    late_copies: bool = False
    strict: bool = False

    name: ClassVar[str] = "g++"
    target = "cpu"
    suffix: ClassVar[str] = ".so"
    source_suffix: ClassVar[str] = ".cpp"
    machine: ClassVar[str | None] = platform.machine()

    def entry(self, symbol: str) -> str:
        """Return the name of the function that launches a kernel."""
        return f"{symbol}_launch"

    @property
    def command(self) -> Sequence[str]:
        """The compiler."""
        # CXX may hold several words, such as "ccache g++".
        words = shlex.split(os.environ.get("CXX", "")) or ["g++"]
        if self.path is not None:
            words = [str(self.path)]
        found = shutil.which(words[0])
        if found is None:
            origin = " (from CXX)" if self.path is None and "CXX" in os.environ else ""
            raise CompilerNotFoundError(
                f"no g++ found: looked for '{words[0]}'{origin} in PATH", hint=INSTALL_HINT
            )
        command = (found, *words[1:])
        _check_version(command)
        return command

    @property
    def options(self) -> Sequence[str]:
        """The options."""
        machine = X86_OPTIONS if platform.machine() == "x86_64" else ()
        check = ("-DHIDET_CHECK",) if self.check else ()
        late = ("-DHIDET_LATE_COPIES",) if self.late_copies else ()
        strict = STRICT_OPTIONS if self.strict else ()
        return (*COMMON_OPTIONS, *machine, *check, *late, *strict)

    def load_error(self, binary: Path, processes: Processes) -> str | None:
        """Return why a library cannot be loaded; None also if its file system is noexec."""
        if os.statvfs(binary).f_flag & os.ST_NOEXEC:
            return None
        status, log = processes.run([*LOAD_COMMAND, str(binary)], binary.parent)
        if status < 0:
            return f"that crashes a process ({signal.Signals(-status).name})"
        return None if status == 0 else "\n".join(log.splitlines()[-1:])

    def host(self) -> str:
        """Return a description of the processor, whose instructions -march=native uses."""
        return cpu_description()


@functools.cache
def _check_version(command: tuple[str, ...]) -> None:
    """Raise `CompilerNotFoundError` unless a compiler is a recent g++."""
    version = compiler_version(command)
    first_line = version.partition("\n")[0]
    number = re.search(r"\) (\d+)\.\d+", first_line)
    if "Free Software Foundation" not in version or number is None:
        raise CompilerNotFoundError(f"{command[0]} is not g++: {first_line}", hint=INSTALL_HINT)
    if int(number[1]) < OLDEST_VERSION:
        raise CompilerNotFoundError(f"{command[0]} is too old: {first_line}", hint=INSTALL_HINT)


@functools.cache
def cpu_description() -> str:
    """Return a description of this machine's processors, without varying fields like the clock."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except FileNotFoundError:
        return f"{platform.machine()} {platform.processor()}"
    lines = re.findall(rf"^(?:{_CPU_FIELDS})\s*:.*$", text, re.MULTILINE)
    return "\n".join([platform.machine(), *sorted(set(lines))])
