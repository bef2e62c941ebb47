"""What a call of a kernel in a program and the launch of one on the host share."""

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerType,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    opt_prop_def,
    prop_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException


def inits_property(numbers: Sequence[int]) -> DenseArrayBase[IntegerType] | None:
    """Make the property `inits`; there is none where all results begin with nothing."""
    return DenseArrayBase.from_list(i64, tuple(numbers)) if numbers else None


class KernelCall(IRDLOperation, ABC):
    """An operation that runs a kernel, whose arguments are the operands followed by the results.

    Some results may hold something when the kernel begins: `inits` has their numbers. What they
    hold are the last operands, one for each, which are no arguments of the kernel.
    """

    kernel = prop_def(FlatSymbolRefAttrConstr)
    inits = opt_prop_def(DenseArrayBase.constr(i64))
    arguments = var_operand_def()
    results_ = var_result_def()

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = (
        "$kernel `(` $arguments `)` attr-dict `:` functional-type($arguments, $results_)"
    )

    def __init__(
        self,
        kernel: str,
        arguments: Sequence[SSAValue],
        result_types: Sequence[Attribute] = (),
        inits: Sequence[int] = (),
    ) -> None:
        super().__init__(
            properties={"kernel": SymbolRefAttr(kernel), "inits": inits_property(inits)},
            operands=[arguments],
            result_types=[result_types],
        )

    @property
    def init_numbers(self) -> Sequence[int]:
        """The numbers of the results that hold something when the kernel begins."""
        return () if self.inits is None else self.inits.get_values()

    @property
    def passed(self) -> Sequence[SSAValue]:
        """The operands that are arguments of the kernel."""
        return self.arguments[: len(self.arguments) - len(self.init_numbers)]

    @property
    def init_values(self) -> Sequence[SSAValue]:
        """What the results of `init_numbers` hold when the kernel begins."""
        return self.arguments[len(self.arguments) - len(self.init_numbers) :]

    def verify_(self) -> None:
        """Check that what results hold at first has their types."""
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
