"""Properties of data types under the names of the original Hidet."""

from __future__ import annotations

from collections.abc import Callable


class Answer(int):
    """A boolean that may be called, for both `kind.is_float` and `kind.is_float()`."""

    def __call__(self) -> bool:
        """Return it as a bool."""
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))


def _is_kind(*kinds: str, bits: int | None = None) -> Callable[[DataTypeNames], bool]:
    """Return the predicate whether a type has one of some kinds, and a width."""

    def test(self: DataTypeNames) -> bool:
        return getattr(self, "kind", "vector") in kinds and bits in (None, self.bits)

    return test


class DataTypeNames:
    """The queries that scalar and vector types share."""

    bits: int

    is_boolean = _is_kind("bool")
    is_vector = _is_kind("vector")
    is_signed_integer = _is_kind("signed")
    is_unsigned_integer = _is_kind("unsigned")
    is_any_float16 = _is_kind("float", bits=16)
    is_complex = is_subbyte = is_integer_subbyte = is_float_subbyte = _is_kind()

    @property
    def nbits(self) -> int:
        """The width in bits."""
        return self.bits

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return max(self.bits // 8, 1)

    @property
    def storage(self) -> DataTypeNames:
        """The type that memory holds: itself."""
        return self
