"""Generates `docs/operators.md`: the supported ATen operators, and the unsupported ones.

python -m hidet.frontends.torch.listing > docs/operators.md
"""

from collections.abc import Iterable
from textwrap import fill

from hidet.frontends.torch import decomposed
from hidet.frontends.torch.decompositions import ADDED
from hidet.frontends.torch.operators import FAMILIES
from hidet.frontends.torch.operators.emitter import Overload

LEFT: dict[str, str] = {
    "data types": "complex and quantized numbers, sparse layouts; `uint8` with scalars out of its "
    "range, as a mask, and in `view` as another type; `view` as a type of another width",
    "sizes that depend on data": "`nonzero`, `unique`, `masked_select`, `repeat_interleave` by a "
    "tensor, `index_put` by a mask with several values",
    "linear algebra": "matrices of more than 64 rows or columns, more than 32 for `linalg_pinv`, "
    "`_linalg_svd`, `_linalg_eigh` and `linalg_matrix_exp`; vectors of `_linalg_svd` and "
    "`_linalg_eigh`, whose signs are not unique and would differ from torch's, and eigenvalues in "
    "float64; `linalg_eig`, which is complex; `linalg_ldl_factor_ex`, `linalg_ldl_solve`",
    "errors about data": "`_linalg_check_errors`, such as for a singular matrix, and "
    "`_assert_async`: torch raises its own errors, without a warning; the computation itself is "
    "compiled",
    "Fourier transforms": "`_fft_r2c`, `_fft_c2r`, `_fft_c2c`, which are complex",
    "random numbers": "`randperm`, `multinomial`, `poisson`, `binomial`, `_standard_gamma`, and "
    "all with an explicit generator: without a warning; their consumers are compiled",
    "long rows": "sorting of rows of more than 2^18 elements, 2^14 on the CPU, as each merge of "
    "parts is further kernels; `mode` of rows of more than 1024 elements with more than 2^31 "
    "comparisons in all, 2^26 on the CPU: its work is quadratic",
    "not yet": "`hash_tensor`; convolutions and pooling of integers",
}
"""The unsupported operators, by kind."""


def _names(targets: Iterable[Overload]) -> str:
    """Return the sorted names of operators."""
    names = sorted({str(target).split(".")[1] for target in targets})
    return fill(", ".join(f"`{name}`" for name in names), 100, break_on_hyphens=False)


def page() -> str:
    """Return the text of the page."""
    lines = [
        "# Operators of PyTorch",
        "",
        "Written by `python -m hidet.frontends.torch.listing` from the tables of the compiler; a",
        "test compares. [torch.md](torch.md) describes the fallback.",
        "",
        "## Compiled as they are",
    ]
    for family, table in FAMILIES.items():
        lines += ["", f"### {family}", "", _names(table)]
    lines += ["", "## Decomposed by hidet"]
    for family, table in decomposed.FAMILIES.items():
        lines += ["", f"### of {family}", "", _names(table)]
    lines += ["", "## Decomposed by torch", ""]
    lines += ["The operators of torch's table for core ATen, and:", ""]
    lines += [fill(", ".join(f"`{str(packet).removeprefix('aten.')}`" for packet in ADDED), 100)]
    lines += ["", "## In eager torch", "", "| kind | operators and reasons |", "| - | - |"]
    lines += [f"| {kind} | {which} |" for kind, which in LEFT.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
