"""Functions of C's library beyond the common ones, on each element."""

from xdsl.dialects import math
from xdsl.irdl import irdl_op_definition, traits_def

from hidet.dialects.graph.binary import FloatBinaryOp
from hidet.dialects.graph.elementwise_trait import Elementwise, library
from hidet.dialects.graph.unary import FloatUnaryOp


@irdl_op_definition
class AsinhOp(FloatUnaryOp):
    """The inverse hyperbolic sine."""

    name = "graph.asinh"
    traits = traits_def(Elementwise(math.AsinhOp))


@irdl_op_definition
class AcoshOp(FloatUnaryOp):
    """The inverse hyperbolic cosine."""

    name = "graph.acosh"
    traits = traits_def(Elementwise(math.AcoshOp))


@irdl_op_definition
class AtanhOp(FloatUnaryOp):
    """The inverse hyperbolic tangent."""

    name = "graph.atanh"
    traits = traits_def(Elementwise(math.AtanhOp))


@irdl_op_definition
class LgammaOp(FloatUnaryOp):
    """The logarithm of the absolute value of the gamma function."""

    name = "graph.lgamma"
    traits = traits_def(Elementwise(library("lgamma")))


@irdl_op_definition
class HypotOp(FloatBinaryOp):
    """The length of the vector (left, right)."""

    name = "graph.hypot"
    traits = traits_def(Elementwise(library("hypot")))


@irdl_op_definition
class CopysignOp(FloatBinaryOp):
    """The left with the sign of the right."""

    name = "graph.copysign"
    traits = traits_def(Elementwise(math.CopySignOp))


@irdl_op_definition
class NextafterOp(FloatBinaryOp):
    """The number that follows the left one on the way to the right one."""

    name = "graph.nextafter"
    traits = traits_def(Elementwise(library("nextafter")))
