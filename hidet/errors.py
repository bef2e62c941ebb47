"""The catalogue of errors: every mistake that hidet reports to its user has a class here.

An error says what is wrong, where (an operator, a tensor, a source line), and what would be right.
Verifiers of operations raise xDSL's `VerifyException` instead, as all of xDSL does.
"""


class HidetError(Exception):
    """Base class of all errors of hidet.

    Args:
        what: what is wrong, in one sentence, with the values that show it.
        where: the operator, tensor, file or source line concerned, if one is known.
        hint: what would be right, or what to do about it.
    """

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what]
        if self.where is not None:
            lines.append(f"  at: {self.where}")
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        # The default calls the class with its positional arguments, which loses the required
        # keywords of subclasses; errors travel between the processes of a parallel build.
        return _restore, (type(self), dict(self.__dict__))


def _restore(error_class: type[HidetError], fields: dict[str, object]) -> HidetError:
    """Rebuild an error that was sent to another process."""
    error = error_class.__new__(error_class)
    error.args = (fields["what"],)
    error.__dict__.update(fields)
    return error


class UnsupportedOperatorError(HidetError):
    """An operator, or a form of it, that no layer of the compiler handles."""


class UnsupportedDtypeError(HidetError):
    """A data type that an operator, a kernel or the target does not handle."""


class DeviceMismatchError(HidetError):
    """Tensors of one call live on different devices, or on one that the program is not for."""


class CompilerNotFoundError(HidetError):
    """nvcc or g++ is needed and was not found."""


class CompilationError(HidetError):
    """nvcc or g++ refused the source that was generated.

    Args:
        what: which compiler failed on which kernel.
        log: what the compiler printed.
        source_path: the file that holds the source; it is the place where none is given.
        place: `where` and `hint`, see `HidetError`.
    """

    def __init__(
        self, what: str, *, log: str, source_path: str | None = None, **place: str | None
    ) -> None:
        place["where"] = place.get("where") or source_path
        super().__init__(what, **place)
        self.log = log
        self.source_path = source_path

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.log.rstrip()}" if self.log else super().__str__()


class CacheError(HidetError):
    """The folder of cached artifacts cannot be used: not writable, not safe, or full."""


class SavedGraphError(HidetError):
    """A file is no saved graph: damaged, of another version or machine, or not to be trusted."""


class PassError(HidetError):
    """A pass failed; wraps whatever was raised in it, which stays the `__cause__`.

    Args:
        what: what failed.
        pass_name: the name of the pass, as in a pipeline.
        place: `where`, the source line that the operation came from, and `hint`.
    """

    def __init__(self, what: str, *, pass_name: str, **place: str | None) -> None:
        super().__init__(f"pass '{pass_name}' failed: {what}", **place)
        self.pass_name = pass_name


class LegalityError(HidetError):
    """The program between two stages of the compiler holds what it must not hold there."""


class OptionError(HidetError):
    """An option has an unknown name or a value that it cannot take."""


class ConflictingPackageError(HidetError):
    """Another installed distribution provides the same import package."""


class ScheduleError(HidetError):
    """No schedule fits: no template takes the fusion, or its config breaks a limit."""


class MissingNameError(HidetError, ImportError):
    """An import of a name of the original Hidet that is not there; the hint says what to use."""


class MissingMemberError(HidetError, AttributeError):
    """The same of what is asked for as an attribute: of a module, or of an object."""


class ScriptError(HidetError):
    """A mistake in a script; shows the user's line, with a caret under what is wrong.

    Args:
        what: see `HidetError`.
        source: the text of the line, and below it the caret, without further indentation.
        place: `where`, the file and the line, `kernel.py:12`, and `hint`.
    """

    def __init__(self, what: str, *, source: str | None = None, **place: str | None) -> None:
        super().__init__(what, **place)
        self.source = source

    def __str__(self) -> str:
        if self.source is None:
            return super().__str__()
        lines = [self.what, f"  at: {self.where}"]
        lines += [f"      {line}" for line in self.source.splitlines()]
        if self.hint is not None:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)


class IndexOutOfRangeError(HidetError, IndexError, RuntimeError):
    """A program looked something up at an index that is out of bounds.

    Eager torch raises an `IndexError` or a `RuntimeError`, which depends on the operator; this is
    both.
    """


class DivisionByZeroError(HidetError, ZeroDivisionError, RuntimeError):
    """A program divided an integer by zero; eager torch raises a `RuntimeError`."""


class CudaError(HidetError):
    """A call of the CUDA driver or runtime failed.

    Args:
        call: the name of the function.
        code: the error code that it returned.
        description: the name and meaning of the code.
        place: `where` and `hint`, see `HidetError`.
    """

    def __init__(self, call: str, code: int, description: str = "", **place: str | None) -> None:
        reason = f"{description} ({code})" if description else f"error {code}"
        super().__init__(f"{call} failed: {reason}", **place)
        self.call = call
        self.code = code
