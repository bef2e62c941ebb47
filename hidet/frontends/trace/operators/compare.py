"""Comparisons and boolean logic; nonzero numbers are true."""

import torch

from hidet.frontends.trace.recording import binary, unary

equal = binary(torch.eq, "x == y", "equal")
greater = binary(torch.greater, "x > y")
greater_equal = binary(torch.greater_equal, "x >= y")
less = binary(torch.less, "x < y")
less_equal = binary(torch.less_equal, "x <= y")
logical_and = binary(torch.logical_and, "whether both hold,")
logical_not = unary(torch.logical_not, "whether it does not hold,")
logical_or = binary(torch.logical_or, "whether one holds,")
logical_xor = binary(torch.logical_xor, "whether just one holds,")
not_equal = binary(torch.not_equal, "x != y")
