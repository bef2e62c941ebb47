"""What programs around scripts ask of a data type, in the words of the original Hidet."""

from __future__ import annotations


class Answer(int):
    """Whether something holds, for both `if kind.is_float:` and `if kind.is_float():`."""

    def __call__(self) -> bool:
        """Return it as a truth value of Python."""
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))


class DataTypeNames:
    """The questions that a scalar type and a vector type answer alike.

    Attributes:
        bits: the width in bits.
    """

    bits: int

    @property
    def nbits(self) -> int:
        """The width in bits."""
        return self.bits

    @property
    def nbytes(self) -> int:
        """The bytes of a number."""
        return max(self.bits // 8, 1)

    def is_boolean(self) -> bool:
        """Return whether it is the type of truth values."""
        return self._kind == "bool"

    def is_vector(self) -> bool:
        """Return whether it is a type of vectors."""
        return self._kind == "vector"

    def is_complex(self) -> bool:
        """Return whether it is a type of complex numbers, of which there are none."""
        return False

    def is_signed_integer(self) -> bool:
        """Return whether it is an integer type with a sign."""
        return self._kind == "signed"

    def is_unsigned_integer(self) -> bool:
        """Return whether it is an integer type without a sign."""
        return self._kind == "unsigned"

    def is_any_float16(self) -> bool:
        """Return whether it is a floating point type of 16 bits."""
        return self._kind == "float" and self.bits == 16

    def is_subbyte(self) -> bool:
        """Return whether several numbers share a byte, which those of no type here do."""
        return False

    is_integer_subbyte = is_float_subbyte = is_subbyte

    @property
    def storage(self) -> DataTypeNames:
        """The type that memory holds: itself."""
        return self

    @property
    def _kind(self) -> str:
        """What arithmetic the type has."""
        return str(getattr(self, "kind", "vector"))
