"""The tool `hidet`.

hidet script FILE     print the kernels of a Python file
hidet tune FILE       find the best configs of a program's fusions by measuring
hidet bench matmul M N K   the same for one matmul
hidet compile MODEL -o FILE   compile a model of ONNX or torch.export to a saved graph
hidet run FILE        run a saved graph on random inputs
hidet bench graph FILE   measure its calls
hidet profile FILE    measure each of its launches
hidet cache show      show the content of the cache
hidet cache clear     clear the cache
hidet option          show every option, its value and its meaning
hidet env             show versions, compilers and devices, for a bug report
hidet new WHAT NAME   write the files of a pass, an operation or the like, in a checkout
"""

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hidet
from hidet import option
from hidet.errors import CompilerNotFoundError, HidetError
from hidet.tools.commands import add_commands
from hidet.tools.pipes import leave_pipe

if TYPE_CHECKING:
    from hidet.backend.toolchains import Toolchain

PACKAGES = ("xdsl", "torch", "numpy", "cuda-python")
"""The distributions whose versions `hidet env` shows."""


def _cache(arguments: argparse.Namespace) -> None:
    from hidet.tools import cache_command

    action = {"show": cache_command.show, "clear": cache_command.clear}[arguments.cache_command]
    action(arguments.root or option.get_option("cache_dir"))


def _show_script(arguments: argparse.Namespace) -> None:
    """Print the kernels of a script, or match the comments of the file against them."""
    from hidet.tools import script_file

    if arguments.filecheck:
        script_file.check_script_file(arguments.file)
    else:
        modules = script_file.read_script_file(arguments.file)
        print(script_file.print_modules(modules, arguments.level))


def _show_options(_: argparse.Namespace) -> None:
    print(option.describe())


def _distribution_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _compiler(toolchain: "Toolchain") -> str:
    """Return the path and version of a compiler, or why it cannot be used."""
    from hidet.backend.toolchains.base import compiler_version

    try:
        command = tuple(toolchain.command)
        lines = compiler_version(command).splitlines()
    except CompilerNotFoundError as error:
        return error.what
    release = next((line for line in lines if "release" in line), lines[0] if lines else "")
    return f"{' '.join(command)}, {release}"


def _processor() -> str:
    """Describe the processor, and the number of cores that this process may use."""
    from hidet.backend.toolchains.gxx import cpu_description

    models = (line.split(":", 1)[1] for line in cpu_description().splitlines() if "name" in line)
    return f"{next(models, platform.machine()).strip()}, {len(os.sched_getaffinity(0))} cores"


def _devices() -> list[str]:
    """Describe the CUDA devices that torch sees."""
    import torch

    numbers = range(torch.cuda.device_count())
    found: list[Any] = [torch.cuda.get_device_properties(number) for number in numbers]
    return [f"{each.name} (sm_{each.major}{each.minor})" for each in found]


def _show_env(_: argparse.Namespace) -> None:
    from hidet.backend.cache import Store
    from hidet.backend.toolchains import Gxx, Nvcc

    rows = [
        ("hidet", hidet.__version__),
        ("Python", platform.python_version()),
        ("platform", platform.platform()),
        ("processor", _processor()),
    ]
    rows += [(name, _distribution_version(name)) for name in PACKAGES]
    # The architecture does not matter here.
    rows += [("g++", _compiler(Gxx())), ("nvcc", _compiler(Nvcc("sm_80")))]
    rows += [(f"cuda:{index}", device) for index, device in enumerate(_devices())] or [
        ("cuda", "no device")
    ]
    store = Store(option.get_option("cache_dir"))
    rows.append(("cache", f"{store.folder.root}, {store.size() / 1e6:.1f} MB"))
    for name, value in rows:
        print(f"{name:<12} {value}")


def _write_new(arguments: argparse.Namespace) -> None:
    """Write the files of something new; print which have changed, and the next steps."""
    from hidet.tools import new

    tree, name = new.Tree(arguments.root), arguments.name
    match arguments.what:
        case "pass":
            changed = new.new_pass(tree, name, arguments.stage)
        case "op":
            changed = new.new_op(tree, name, arguments.operand)
        case "instruction":
            changed = new.new_instruction(tree, name, arguments.operands)
        case _:
            changed = new.new_operator(tree, name, arguments.operands)
    print("\n".join(changed))
    print(new.next_steps(arguments.what, changed))


def _add_new(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(dest="what", required=True)
    helps = {
        "pass": "a pass: `fold-casts`",
        "op": "an operation of a dialect: `task.copy`",
        "instruction": "a function of scalars: `fdim`",
        "operator": "an operator of PyTorch on the elements of tensors: `hypot`",
    }
    commands = {what: kinds.add_parser(what, help=text) for what, text in helps.items()}
    for what, command in commands.items():
        command.add_argument("name", help=helps[what])
        command.add_argument(
            "--root", type=Path, default=Path(), help="the checkout; default: here"
        )
    commands["pass"].add_argument(
        "--stage",
        choices=("graph", "compute", "task", "cuda", "host"),
        default="cuda",
        help="the folder of hidet/lowering in which it stands; default: cuda",
    )
    commands["op"].add_argument(
        "--operand",
        choices=("scalar", "integer"),
        default="scalar",
        help="the type of its operand; default: any scalar",
    )
    for what in ("instruction", "operator"):
        commands[what].add_argument(
            "--operands", type=int, choices=(1, 2), help="how many numbers or tensors it takes"
        )
    parser.set_defaults(action=_write_new)


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hidet",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hidet {hidet.__version__}")
    commands = parser.add_subparsers(dest="command", required=True)

    cache_commands = commands.add_parser("cache", help="look at or clear the cache").add_subparsers(
        dest="cache_command", required=True
    )
    for name, help_text in {"show": "what the cache holds", "clear": "empty the cache"}.items():
        command = cache_commands.add_parser(name, help=help_text)
        command.add_argument("--root", type=Path, help="the folder; default: option cache_dir")
        command.set_defaults(action=_cache)

    script = commands.add_parser("script", help="what the kernels of a Python file become")
    script.add_argument("file", type=Path, help="a Python file with hidet.script_module()")
    script.add_argument(
        "--level",
        choices=("task", "cuda", "final", "source"),
        default="source",
        help="a level of the IR, or CUDA C++ (default)",
    )
    script.add_argument(
        "--filecheck",
        action="store_true",
        help="match the comments TASK, CUDA, FINAL, IR and SOURCE of the file instead",
    )
    script.set_defaults(action=_show_script)

    add_commands(commands)
    commands.add_parser("option", help="every option and its value").set_defaults(
        action=_show_options
    )
    _add_new(commands.add_parser("new", help="the files of a pass, an operation or the like"))
    commands.add_parser("env", help="versions, compilers and devices").set_defaults(
        action=_show_env
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `hidet` and return its exit status."""
    parsed = _make_parser().parse_args(arguments)
    try:
        parsed.action(parsed)
        sys.stdout.flush()
    except BrokenPipeError:
        return leave_pipe()
    except (HidetError, OSError) as error:
        if os.environ.get("HIDET_TRACEBACK") == "1":
            raise
        print(f"hidet: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
