"""The base of ops on tensors that update some of their results in place."""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import SSAValue
from xdsl.irdl import opt_prop_def, var_operand_def, var_result_def
from xdsl.utils.exceptions import VerifyException

from hidet.dialects.fields import FieldsOp


class InPlaceOp(FieldsOp, ABC):
    """An op some of whose results are updated in place, in the memory of an operand.

    `inits` lists these results. Their initial contents are the last arguments, one each, which the
    kernel does not get.
    """

    arguments = var_operand_def()
    results_ = var_result_def()
    inits = opt_prop_def(DenseArrayBase.constr(i64))

    @property
    def init_numbers(self) -> Sequence[int]:
        """The positions of the results that are updated in place."""
        return () if self.inits is None else self.inits.get_values()

    @property
    def passed(self) -> Sequence[SSAValue]:
        """The operands that the kernel gets."""
        return self.arguments[: len(self.arguments) - len(self.init_numbers)]

    @property
    def init_values(self) -> Sequence[SSAValue]:
        """The initial contents of in-place results."""
        return self.arguments[len(self.arguments) - len(self.init_numbers) :]

    def verify_(self) -> None:
        """Check the types of in-place operands."""
        numbers = list(self.init_numbers)
        in_order = numbers == sorted({n for n in numbers if 0 <= n < len(self.results_)})
        if not in_order or len(numbers) > len(self.arguments):
            raise VerifyException(
                f"{self.name}: inits {numbers} with {len(self.arguments)} operands and "
                f"{len(self.results_)} results"
            )
        for number, value in zip(numbers, self.init_values, strict=True):
            if value.type != self.results_[number].type:
                raise VerifyException(
                    f"{self.name}: result {number} is {self.results_[number].type}, but holds "
                    f"{value.type} at first"
                )
