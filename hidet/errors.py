"""The error classes of hidet.

An error says what is wrong, where (an operator, a tensor, a source line), and what would be right.
Verifiers of operations raise xDSL's `VerifyException` instead.
"""


class HidetError(Exception):
    """Base class of all errors of hidet.

    Args:
        what: what is wrong, in one sentence, with the values that show it.
        where: the operator, tensor, file or source line, if known.
        hint: what would be right, or what to do about it.
    """

    source: str | None = None
    """The text of the line of a script; see `ScriptError`."""

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.where is not None:
            lines.append(f"  at: {self.where}")
        lines += [f"      {line}" for line in (self.source or "").splitlines()]
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # The default calls the class with its positional arguments, which loses the required
        # keywords of subclasses; errors travel between the processes of a parallel build.
        return _restore, (type(self), dict(self.__dict__))


def _restore(error_class: type[HidetError], fields: dict[str, object]) -> HidetError:
    """Unpickle an error."""
    error = error_class.__new__(error_class)
    error.args = (fields["what"],)
    error.__dict__.update(fields)
    return error


class UnsupportedOperatorError(HidetError):
    """An operator, or a form of it, is not supported."""


class UnsupportedDtypeError(HidetError):
    """An operator, a kernel or the target does not support a data type."""


class DeviceMismatchError(HidetError):
    """Tensors of one call are on different devices, or on a device that the program is not for."""


class CompilerNotFoundError(HidetError):
    """nvcc or g++ is needed and was not found."""


class CompilationError(HidetError):
    """nvcc or g++ rejected the generated source; `log` is its output, `source_path` the file."""

    def __init__(
        self, what: str, *, log: str, source_path: str | None = None, **place: str | None
    ) -> None:
        place["where"] = place.get("where") or source_path
        super().__init__(what, **place)
        self.log = log
        self.source_path = source_path

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.log.rstrip()}" if self.log else super().__str__()


class ResourceError(HidetError):
    """The process, or the machine, has no more memory, disk space, open files or threads."""


class CacheError(HidetError):
    """The cache cannot be used: it is not writable, not safe, or full."""


class SavedGraphError(HidetError):
    """A file is not a valid saved graph: damaged, of another version or target, or not trusted."""


class PassError(HidetError):
    """A pass failed; the exception that it raised is the `__cause__`.

    `pass_name` is that in a pipeline; `where` the source line that the operation came from.
    """

    def __init__(self, what: str, *, pass_name: str, **place: str | None) -> None:
        super().__init__(f"pass '{pass_name}' failed: {what}", **place)
        self.pass_name = pass_name


class LegalityError(HidetError):
    """The program is invalid between two stages of the compiler."""


class OptionError(HidetError):
    """An option is unknown or has an invalid value."""


class ConflictingPackageError(HidetError):
    """Another installed distribution provides the same import package."""


class ScheduleError(HidetError):
    """There is no schedule: no template accepts the fusion, or its config exceeds a limit."""


class MissingNameError(HidetError, ImportError):
    """A missing name of the original Hidet is imported; the hint says what to use instead."""


class MissingMemberError(HidetError, AttributeError):
    """A missing name of the original Hidet is used as an attribute of a module or object."""


class ScriptError(HidetError):
    """An error in a script; shows the user's line with a caret.

    `source` is the text of the line, and below it the caret, without indentation; `where` the file
    and the line, `kernel.py:12`.
    """

    def __init__(self, what: str, *, source: str | None = None, **place: str | None) -> None:
        super().__init__(what, **place)
        self.source = source


class IndexOutOfRangeError(HidetError, IndexError, RuntimeError):
    """An index is out of bounds.

    Eager torch raises an `IndexError` or a `RuntimeError`, depending on the operator; this is both.
    """


class DivisionByZeroError(HidetError, ZeroDivisionError, RuntimeError):
    """A program divided an integer by zero; eager torch raises a `RuntimeError`."""


class CudaError(HidetError):
    """A call of a function of the CUDA driver or runtime returned an error code."""

    def __init__(self, call: str, code: int, description: str = "", **place: str | None) -> None:
        reason = f"{description} ({code})" if description else f"error {code}"
        super().__init__(f"{call} failed: {reason}", **place)
        self.call = call
        self.code = code
