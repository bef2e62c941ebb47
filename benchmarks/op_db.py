"""How much of PyTorch's operator database is compiled: the table that this prints.

    python benchmarks/op_db.py [--dtype float32] [--device cpu] [--samples 2] [--only NAMES]

Every entry of `torch.testing._internal.common_methods_invocations.op_db` is called eagerly and
through `torch.compile(backend="hidet")` on its first sample inputs, and counts as the worst of

* `compiled`: without a fallback, and with what eager torch gives;
* `eager`: right, but operators were left to eager torch, which are listed;
* `untraced`: right, but dynamo itself gave up before there was a graph;
* `wrong`: other values, data types or shapes than eager torch gives;
* `raises`: an exception where eager torch has none.

torch's own test kit wants the package `expecttest`.
"""

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

from hidet.frontends.torch.backend import hidet_backend
from hidet.torch import UnsupportedOperatorWarning

KINDS = ("compiled", "untraced", "eager", "wrong", "raises")
MEANINGLESS = ("bernoulli", "empty", "new_empty")
"""How the names of entries begin whose values mean nothing, or that are drawn in another order."""


def samples_of(entry: Any, device: str, dtype: torch.dtype, count: int) -> Iterator[Any]:
    """Give the first sample inputs that eager torch takes."""
    torch.manual_seed(0)
    yield from islice(entry.sample_inputs(device, dtype, requires_grad=False), count)


def call(function: Any, sample: Any) -> Any:
    """Call an entry on fresh copies of its sample, since some entries write their arguments."""
    torch.manual_seed(1)
    copies = sample.transform(_copy)
    return function(copies.input, *copies.args, **copies.kwargs)


def _copy(value: Any) -> Any:
    """Give a copy of a tensor, and what is none itself."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def same(ours: Any, eager: Any, dtype: torch.dtype) -> bool:
    """Tell whether results agree in structure, data types, shapes and values."""
    tolerance = 2e-2 if dtype in (torch.float16, torch.bfloat16) else 2e-4
    pairs = list(zip(tree_leaves(ours), tree_leaves(eager), strict=True))
    for one, other in pairs:
        if not isinstance(other, torch.Tensor):
            if one != other:
                return False
            continue
        try:
            torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError:
            return False
    return True


def judge(entry: Any, sample: Any, dtype: torch.dtype) -> tuple[str, str]:
    """Give the kind of one call of an entry, and why."""
    try:
        eager = call(entry.op, sample)
    except Exception:  # noqa: BLE001 - what eager torch refuses says nothing of us
        return "compiled", ""
    torch.compiler.reset()
    graphs: list[Any] = []

    def backend(module: Any, inputs: Any) -> Any:
        graphs.append(module)
        return hidet_backend(module, inputs)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ours = call(torch.compile(lambda *a, **k: entry.op(*a, **k), backend=backend), sample)
        except Exception as error:  # noqa: BLE001 - any is worth a line
            return "raises", f"{type(error).__name__}: {str(error).strip().splitlines()[0][:160]}"
    if not entry.name.startswith(MEANINGLESS) and not same(ours, eager, dtype):
        return "wrong", ""
    left = [str(w.message) for w in caught if w.category is UnsupportedOperatorWarning]
    if left:
        return "eager", "; ".join(dict.fromkeys(re.findall(r"^  (.*)$", "\n".join(left), re.M)))
    if not graphs:
        return "untraced", ""
    return "compiled", ""


def main() -> None:
    """Print what becomes of each entry, and how many are of each kind."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--only", help="a regular expression for the names of entries")
    options = parser.parse_args()
    dtype = getattr(torch, options.dtype)
    counts: Counter[str] = Counter()
    with torch.no_grad():
        for entry in op_db:
            name = f"{entry.name}.{entry.variant_test_name}".rstrip(".")
            if dtype not in entry.supported_dtypes(options.device):
                continue
            if options.only and not re.fullmatch(options.only, name):
                continue
            found = [
                judge(entry, sample, dtype)
                for sample in samples_of(entry, options.device, dtype, options.samples)
            ]
            kind, why = max(found, key=lambda each: KINDS.index(each[0]), default=("compiled", ""))
            counts[kind] += 1
            print(f"{kind:9} {name:45} {why}", flush=True)
    total = sum(counts.values())
    print(f"\non {options.device}, {options.dtype}: {total} entries")
    for kind in KINDS:
        print(f"{kind:9} {counts[kind]:4} {100 * counts[kind] / max(1, total):5.1f} %")


if __name__ == "__main__":
    main()
