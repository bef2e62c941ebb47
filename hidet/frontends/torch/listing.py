"""The page `docs/operators.md`: which operators of ATen are compiled, and which are not and why.

python -m hidet.frontends.torch.listing > docs/operators.md
"""

from collections.abc import Iterable
from inspect import getmodule
from textwrap import fill

from hidet.frontends.torch.decomposed import DECOMPOSED
from hidet.frontends.torch.decompositions import ADDED
from hidet.frontends.torch.operators import FAMILIES
from hidet.frontends.torch.operators.emitter import Overload

LEFT: dict[str, str] = {
    "data types": "complex and quantized numbers, sparse layouts; `uint8` beside numbers that are "
    "no bytes, as an index that is a mask, and in `view` as another type",
    "sizes that depend on data": "`nonzero`, `unique`, `masked_select`, `repeat_interleave` by a "
    "tensor, `index_put` by a mask with several values",
    "linear algebra": "matrices of more than 64 rows or columns, more than 32 for `linalg_pinv`: "
    "LAPACK and cuSOLVER are for those; `_linalg_svd` and `_linalg_eigh`, whose vectors have no "
    "definite sign, so that others than torch's would be as right, also for values alone; "
    "`linalg_eig`, whose numbers are complex; `cholesky`, `linalg_ldl_factor_ex`, "
    "`linalg_matrix_exp`",
    "errors about data": "`_linalg_check_errors`, such as for a matrix without an inverse, and "
    "`_assert_async`: torch raises its own errors, without a warning; what they are about is "
    "compiled",
    "Fourier transforms": "`_fft_r2c`, `_fft_c2r`, `_fft_c2c`: their numbers are complex",
    "random numbers": "`randperm`, `multinomial`, `poisson`, `binomial`, `_standard_gamma`, and "
    "all with a generator of their own: without a warning; what is made of them is compiled",
    "long rows": "sorting and scans of more than 1024 elements, unless there are few, and `cumsum` "
    "of more than 4096: their work grows with the square",
    "loops as long as numbers in tensors say": "`igamma`, `special_zeta`, polynomials of Hermite, "
    "Laguerre and Legendre",
    "not yet": "`histogramdd`, `hash_tensor`, `linear_cross_entropy` in chunks; convolutions and "
    "pools of integers, `gcd`, `lcm`",
}
"""What stays in eager torch, by what it has in common."""


def _names(targets: Iterable[Overload]) -> str:
    """List operators by their names, each once."""
    names = sorted({str(target).split(".")[1] for target in targets})
    return fill(", ".join(f"`{name}`" for name in names), 100, break_on_hyphens=False)


def page() -> str:
    """Write the page."""
    lines = [
        "# Operators of PyTorch",
        "",
        "Written by `python -m hidet.frontends.torch.listing` from the tables of the compiler; a",
        "test compares. [torch.md](torch.md) says what happens to the rest of a graph.",
        "",
        "## Compiled as they are",
    ]
    for family, table in FAMILIES.items():
        lines += ["", f"### {family}", "", _names(table)]
    lines += ["", "## Taken apart by hidet", "", "Their parts are compiled."]
    families: dict[str, list[Overload]] = {}
    for target, function in DECOMPOSED.items():
        module = getmodule(function)
        assert module is not None
        families.setdefault(module.__name__.rpartition(".")[2], []).append(target)
    for family, targets in sorted(families.items()):
        lines += ["", f"### of {family}", "", _names(targets)]
    lines += ["", "## Taken apart by torch", ""]
    lines += ["What torch's table for core operators takes apart, and besides:", ""]
    lines += [fill(", ".join(f"`{str(packet).removeprefix('aten.')}`" for packet in ADDED), 100)]
    lines += ["", "## Left to eager torch", "", "| what | which, or why |", "| - | - |"]
    lines += [f"| {kind} | {which} |" for kind, which in LEFT.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
