"""The tool `hidet-opt`: reads a program, runs passes on it, and prints it.

    hidet-opt program.mlir -p 'fuse,schedule{arch=sm_90a}'
    hidet-opt kernel.mlir -t cuda

It is xDSL's `xdsl-opt` with hidet's dialects, passes and targets, aliases for long attributes, and
hidet's error messages. `HIDET_TRACEBACK=1` shows the Python traceback as well.
"""

import os
import re
import struct
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from itertools import chain
from time import perf_counter
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass, PassPipeline
from xdsl.targets.mlir import MLIRTarget
from xdsl.utils.arg_spec import parse_spec
from xdsl.utils.exceptions import (
    ArgSpecParseError,
    DiagnosticException,
    ParseError,
    ShrinkException,
    VerifyException,
)
from xdsl.xdsl_opt_main import xDSLOptMain

import hidet
from hidet.dialects.alias_printer import AliasPrinter, module_text
from hidet.errors import HidetError, LegalityError, OptionError, PassError
from hidet.legality.branches import check_branches
from hidet.legality.dominance import check_dominance
from hidet.legality.launches import check_argument_counts
from hidet.legality.report import place_of
from hidet.limits import resource_errors
from hidet.lowering.blame import blame
from hidet.lowering.pipelines import PIPELINES, PassOptions, passes_of
from hidet.program_text import broken_string, deepest, refused_value, undecodable
from hidet.tools.pipes import leave_pipe
from hidet.universe import multiverse

PassTime = tuple[str, float, int, int]
"""The name of a pass, its seconds, and the number of operations before and after it."""


def format_pass_times(times: Sequence[PassTime]) -> str:
    """Format the times as a table with a total."""
    total = sum(seconds for _, seconds, _, _ in times)
    rows = [
        ("pass", "ms", "%", "ops before", "ops after"),
        *(
            (name, f"{1e3 * time:.2f}", f"{100 * time / (total or 1):.1f}", *map(str, counts))
            for name, time, *counts in times
        ),
        ("total", f"{total * 1e3:.2f}", "", "", ""),
    ]
    width = max(len(name) for name, *_ in rows)
    lines = (f"{name:<{width}}  {a:>10}  {b:>5}  {c:>10}  {d:>9}" for name, a, b, c, d in rows)
    return "\n".join(map(str.rstrip, lines))


# xDSL's underline of the operation that does not verify, in a note with the whole program.
_UNDERLINE = re.compile(r"^(?P<operation>.*)\n *\^+-*$", re.MULTILINE)


def _failing_operation(error: DiagnosticException) -> str | None:
    """Return the line of the operation that does not verify, if xDSL marks it."""
    for note in getattr(error, "__notes__", ()):
        if match := _UNDERLINE.search(note):
            return match["operation"].strip()
    return None


def _verify(program: ModuleOp) -> None:
    """Verify a program, including what xDSL does not: dominance, branches, launches.

    Raises:
        DiagnosticException: it does not verify; some of xDSL's verifiers raise other exceptions.
    """
    try:
        program.verify()
    except DiagnosticException:
        raise
    except Exception as error:
        ops = [frame.f_locals.get("self") for frame, _ in traceback.walk_tb(error.__traceback__)]
        *_, op = (op for op in ops if isinstance(op, Operation))
        what = f"'{op.name}' does not verify: {error}"
        raise VerifyException(f"{what}\n  at: {place_of(op)}") from error
    try:
        check_dominance(program)
        check_branches(program)
        check_argument_counts(program)
    except LegalityError as error:
        raise VerifyException(str(error)) from error


def _is_expected(error: Exception) -> bool:
    """Return whether an exception is about the program; otherwise the pass has a bug."""
    cause = error.__cause__
    if not isinstance(error, PassError) or cause is None:
        return True
    return isinstance(cause, HidetError | DiagnosticException)


def _expand(module_pass: ModulePass) -> Iterable[ModulePass]:
    """Expand a named pipeline into its passes, so that each is timed and verified."""
    if module_pass.name not in PIPELINES:
        return (module_pass,)
    return passes_of(module_pass.name, PassOptions(**asdict(module_pass)))


@dataclass(frozen=True)
class AliasedMLIRTarget(MLIRTarget):
    """xDSL's target `mlir` with aliases, except in highlighted text."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the module as text that `hidet-opt` and `xdsl-opt` can parse."""
        if self.syntax_highlight:
            super().emit(ctx, module, output)
            return
        printer = AliasPrinter(
            stream=output,
            print_generic_format=self.print_generic_format,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.print_aliased_module(module)
        printer.print_metadata(ctx.loaded_dialects)
        output.write("\n")


class HidetOptMain(xDSLOptMain):
    """The driver behind `hidet-opt`; arguments and input are by default those of this process."""

    version_format = f"hidet-opt {hidet.__version__} on xDSL {{xdsl_version}}"

    def __init__(
        self, arguments: Sequence[str] | None = None, stdin: IO[bytes] | None = None
    ) -> None:
        self.stdin = stdin
        super().__init__(description="Run passes of hidet and xDSL on a program", args=arguments)
        target = parse_spec(self.args.target)
        try:
            multiverse().all_targets[target.name]().from_spec(target)
        except ValueError as error:
            raise OptionError(str(error), where=f"target '{self.args.target}'") from error

    def register_all_dialects(self) -> None:
        """Register the dialects of all installed universes."""
        for name, factory in multiverse().all_dialects.items():
            self.ctx.register_dialect(name, factory)

    def register_all_passes(self) -> None:
        """Register the passes of all installed universes."""
        self.available_passes.update(multiverse().all_passes)

    def register_all_targets(self) -> None:
        """Register the targets of all installed universes; `mlir` prints aliases."""
        self.available_targets.update(multiverse().all_targets)
        self.available_targets["mlir"] = lambda: AliasedMLIRTarget

    def setup_pipeline(self) -> None:
        """Parse the pipeline of `-p`.

        Raises:
            OptionError: the pipeline does not parse, or names an unknown pass or option.
        """
        spec: str = self.args.passes
        try:
            named = PassPipeline.parse_spec(self.available_passes, spec)
        except (ValueError, ArgSpecParseError) as error:
            raise OptionError(
                str(error),
                where=f"pipeline '{spec}'",
                hint="a pipeline is 'pass-a,pass-b{option=1 flag=true}'; "
                "`hidet-opt --help` lists the passes",
            ) from error
        self.pipeline = PassPipeline(tuple(chain.from_iterable(map(_expand, named.passes))))

    def get_input_stream(self) -> tuple[IO[bytes], str]:
        """Return the input stream, and the extension of its format: MLIR unless it is another."""
        if self.stdin is not None and self.args.input_file is None:
            return self.stdin, "mlir"
        stream, extension = super().get_input_stream()
        return stream, extension if extension in self.available_frontends else "mlir"

    def parse_chunk(
        self, chunk: IO[bytes], file_extension: str, start_offset: int = 0
    ) -> ModuleOp | None:
        """Parse a program.

        Raises:
            HidetError: a string is open, a value is out of range, the text is not UTF-8, or it is
                nested too deeply.
        """
        data = chunk.read()
        text = data.decode(errors="replace")

        def where(place: tuple[int, int]) -> str:
            return f"{self.args.input_file or '<stdin>'}:{place[0] + start_offset}:{place[1]}"

        if (place := undecodable(data)) is not None:
            raise HidetError("the text is not UTF-8", where=where(place))
        if (place := broken_string(text)) is not None:
            raise HidetError(
                "a string does not end in its line, or has an unknown escape", where=where(place)
            )
        try:
            return super().parse_chunk(BytesIO(data), file_extension, start_offset)
        except RecursionError as error:
            raise HidetError(
                "the program is nested too deeply", where=where(deepest(text))
            ) from error
        except (OverflowError, ValueError, struct.error) as error:  # of xDSL, without a location
            raise HidetError(str(error), where=where(refused_value(text, error))) from error

    def apply_passes(self, prog: ModuleOp) -> None:
        """Apply the passes in order, verifying after each."""
        times: list[PassTime] = []
        passes = self.pipeline.passes
        self._verify(prog)
        for number, module_pass in enumerate(passes, start=1):
            ops_before = sum(1 for _ in prog.walk())
            start = perf_counter()
            self._apply_pass(module_pass, prog)
            seconds = perf_counter() - start
            times.append((module_pass.name, seconds, ops_before, sum(1 for _ in prog.walk())))
            self._verify(prog, module_pass)
            if self.args.print_between_passes and number < len(passes):
                print(f"// IR after {module_pass.name}:\n{module_text(prog)}\n")
        if self.args.time_passes:
            print(format_pass_times(times), file=sys.stderr)

    def _verify(self, prog: ModuleOp, after: ModulePass | None = None) -> None:
        """Verify the program after a pass, unless the command line disables it."""
        if self.args.disable_verify:
            return
        try:
            _verify(prog)
        except DiagnosticException as error:
            if after is None or self.args.verify_diagnostics:
                raise
            raise PassError(
                f"it leaves a program that does not verify: {error}",
                pass_name=after.name,
                where=_failing_operation(error),
                hint="--print-between-passes shows the program before the pass",
            ) from error

    def _apply_pass(self, module_pass: ModulePass, prog: ModuleOp) -> None:
        """Apply a pass; exceptions become errors that name the pass."""
        try:
            with blame(module_pass):
                module_pass.apply(self.ctx, prog)
        except (PassError, LegalityError) as error:
            if isinstance(error.__cause__, ShrinkException):
                raise error.__cause__ from error
            if self.args.verify_diagnostics and _is_expected(error):
                raise DiagnosticException(str(error)) from error
            raise


def main(arguments: Sequence[str] | None = None, stdin: IO[bytes] | None = None) -> int:
    """Run `hidet-opt` and return its exit status: 1 if the program or the pipeline is invalid."""
    try:
        with resource_errors("the program cannot be compiled"):
            HidetOptMain(arguments, stdin).run()
        sys.stdout.flush()
    except BrokenPipeError:
        return leave_pipe()
    except (HidetError, DiagnosticException, ParseError, OSError) as error:
        if os.environ.get("HIDET_TRACEBACK") == "1":
            raise
        sys.stdout.flush()
        print(f"hidet-opt: {error}", file=sys.stderr)
        if isinstance(error, DiagnosticException) and (operation := _failing_operation(error)):
            print(f"  at: {operation}", file=sys.stderr)
        if not _is_expected(error):
            cause = type(error.__cause__).__name__
            print(f"  cause: {cause}; HIDET_TRACEBACK=1 shows where", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
