"""PyTorch's operator database: how much of it is compiled.

    python benchmarks/op_db.py [--dtype float32] [--device cpu] [--samples 2] [--only NAMES]

Every entry of `torch.testing._internal.common_methods_invocations.op_db` is called eagerly and
through `torch.compile(backend="hidet")` on its first sample inputs, and counts as the worst of

* `compiled`: without a fallback, and with what eager torch gives;
* `refused`: eager torch takes none of the samples;
* `complex`: arguments or results are complex or sparse, which the compiler has no types for;
* `data`: right, but what is computed, or the shape of it, depends on data: dynamo stops there;
* `eager`: right, but operators were left to eager torch, which are listed;
* `wrong`: other values, data types or shapes than eager torch gives;
* `raises`: an exception where eager torch has none.

Two figures are printed: the share of all entries, and that of those that are neither `refused` nor
`complex` nor `data`. Drawing numbers and raising errors about data are torch's own: entries that do
nothing else beside what is compiled count as compiled.

Values that differ are right if they are as near to what eager torch gives for float64 as those of
its own, and places of sorted elements if the elements are the same: eager torch, too, gives any of
equal ones, and any of the most frequent elements. Of random numbers types and shapes count. TF32 is
off: cuDNN uses it for some sizes of convolutions and not for others.

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
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

from hidet.frontends.torch.backend import hidet_backend
from hidet.torch import UnsupportedOperatorWarning

KINDS = ("refused", "compiled", "data", "complex", "eager", "wrong", "raises")
NOT_COUNTED = ("refused", "data", "complex")
MEANINGLESS = ("empty", "new_empty")
"""How the names of entries begin whose values mean nothing."""
ORDERING = ("argsort", "kthvalue", "mode", "sort", "topk")
"""Entries that give places of elements of which several may be equal, or as frequent."""
DEPENDS = "[Dd]ata.dependent|dynamic shape operator|output shape|item\\(\\)|_local_scalar_dense"
"""What dynamo says where it stops because of data."""


def samples_of(entry: Any, device: str, dtype: torch.dtype, count: int) -> Iterator[Any]:
    """Return the first sample inputs that eager torch takes."""
    torch.manual_seed(0)
    yield from islice(entry.sample_inputs(device, dtype, requires_grad=False), count)


def call(function: Any, sample: Any, seed: int = 1) -> Any:
    """Call an entry on fresh copies of its sample, since some entries write their arguments."""
    torch.manual_seed(seed)
    copies = sample.transform(_copy)
    return function(copies.input, *copies.args, **copies.kwargs)


def _copy(value: Any) -> Any:
    """Return a copy of a tensor, and what is none itself."""
    return value.clone() if isinstance(value, torch.Tensor) else value


def tolerance_of(dtype: torch.dtype) -> float:
    """Return the allowed error, relative and absolute."""
    return 2e-2 if dtype in (torch.float16, torch.bfloat16) else 2e-4


def same(ours: Any, eager: Any, dtype: torch.dtype) -> bool:
    """Return whether results agree in structure, data types, shapes and values."""
    tolerance = tolerance_of(dtype)
    one, other = tree_leaves(ours), tree_leaves(eager)
    try:
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)
    except (AssertionError, TypeError):
        return len(one) == len(other) and one == other if not one or _is_plain(one) else False
    return True


def _is_plain(leaves: list[Any]) -> bool:
    """Return whether there is no tensor among results."""
    return not any(isinstance(leaf, torch.Tensor) for leaf in leaves)


def is_random(entry: Any, sample: Any, eager: Any, dtype: torch.dtype) -> bool:
    """Return whether eager torch gives something else with some other seed."""
    return not all(same(call(entry.op, sample, seed), eager, dtype) for seed in range(2, 12))


def has_same_types(ours: Any, eager: Any) -> bool:
    """Return whether results agree in structure, data types and shapes."""
    one, other = tree_leaves(ours), tree_leaves(eager)
    kinds = [
        [(x.dtype, x.shape) if isinstance(x, torch.Tensor) else type(x) for x in leaves]
        for leaves in (one, other)
    ]
    return kinds[0] == kinds[1]


def is_as_near(entry: Any, sample: Any, ours: Any, eager: Any, dtype: torch.dtype) -> bool:
    """Return whether results of floats are as near to those in float64 as eager torch's are."""
    wide = sample.transform(
        lambda value: (
            value.double() if isinstance(value, torch.Tensor) and value.dtype is dtype else value
        )
    )
    try:
        exact = tree_leaves(call(entry.op, wide))
    except Exception:  # noqa: BLE001 - then there is nothing to compare with
        return False
    for mine, other, truth in zip(tree_leaves(ours), tree_leaves(eager), exact, strict=True):
        if mine.dtype is not other.dtype or mine.shape != other.shape:
            return False
        off, allowed = (mine.double() - truth).abs(), (other.double() - truth).abs()
        most = allowed.nan_to_num(0, 0, 0).amax()  # eager torch's overflows allow nothing
        bound = torch.maximum(2 * most, tolerance_of(dtype) * truth.abs())
        equal = (mine == truth.to(mine.dtype)) | (mine.isnan() & truth.isnan())
        if not bool((equal | (off <= bound)).all()):
            return False
    return True


def has_same_elements(entry: Any, sample: Any, ours: Any, eager: Any) -> bool:
    """Return whether places of sorted elements are those of equal elements."""
    x = sample.input if sample.input.dim() else sample.input.reshape(1)
    if entry.name == "argsort":
        ours, eager = (None, ours), (None, eager)
    elif entry.name != "mode" and not torch.equal(ours[0], eager[0]):
        return False
    names = {"kthvalue": 1, "topk": 1, "sort": 0, "argsort": 0, "mode": 0}
    number = names[entry.name]
    dim = sample.kwargs.get("dim", sample.args[number] if len(sample.args) > number else -1)
    places = [each[1].reshape(1) if each[1].dim() == 0 else each[1] for each in (ours, eager)]
    if places[0].dim() < x.dim():
        places = [each.unsqueeze(dim) for each in places]
    found = [x.gather(dim, each) for each in places]
    if entry.name == "mode":
        values = ours[0].reshape(found[0].shape)
        frequencies = [(x == each).sum(dim) for each in found]
        return torch.equal(values, found[0]) and torch.equal(*frequencies)
    return torch.equal(*found)


def is_foreign(*values: Any) -> bool:
    """Return whether there are complex numbers or sparse tensors among arguments or results."""
    tensors = [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]
    return any(each.is_complex() or each.layout is not torch.strided for each in tensors)


def judge(entry: Any, sample: Any, dtype: torch.dtype) -> tuple[str, str]:
    """Return the kind of one call of an entry, and why."""
    try:
        eager = call(entry.op, sample)
    except Exception:  # noqa: BLE001 - what eager torch refuses says nothing of us
        return "refused", ""
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
            reasons = [line for line in str(error).splitlines() if line.strip()]
            return "raises", f"{type(error).__name__}: {' '.join(reasons[:2])[:200]}"
    if not (
        (entry.name.startswith(MEANINGLESS) and has_same_types(ours, eager))
        or same(ours, eager, dtype)
        or (dtype.is_floating_point and is_as_near(entry, sample, ours, eager, dtype))
        or (is_random(entry, sample, eager, dtype) and has_same_types(ours, eager))
        or (entry.name in ORDERING and has_same_elements(entry, sample, ours, eager))
    ):
        return "wrong", ""
    left = [str(w.message) for w in caught if w.category is UnsupportedOperatorWarning]
    if is_foreign(sample.input, sample.args, sample.kwargs, eager):
        return "complex", ""
    if left:
        return "eager", "; ".join(dict.fromkeys(re.findall(r"^  (.*)$", "\n".join(left), re.M)))
    return "compiled" if graphs else why_untraced(entry, sample), ""


def why_untraced(entry: Any, sample: Any) -> str:
    """Return the kind of an entry of which dynamo makes no graph."""
    torch.compiler.reset()
    compiled = torch.compile(
        lambda *a, **k: entry.op(*a, **k), backend="eager", fullgraph=True, dynamic=False
    )
    try:
        call(compiled, sample)
    except Exception as error:  # noqa: BLE001 - its words tell
        return "data" if re.search(DEPENDS, str(error)) else "eager"
    return "compiled"  # nothing is left to compute, such as for a constant


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
    # It seeds generators, which dynamo does not trace; `call` does so, too.
    common_methods_invocations.wrapper_set_seed = lambda op, *a, **k: op(*a, **k)
    with torch.no_grad(), torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
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
            kind, why = max(found, key=lambda each: KINDS.index(each[0]), default=("refused", ""))
            counts[kind] += 1
            print(f"{kind:9} {name:45} {why}", flush=True)
    total = sum(counts.values())
    counted = total - sum(counts[kind] for kind in NOT_COUNTED)
    print(f"\non {options.device}, {options.dtype}: {total} entries")
    for kind in KINDS:
        print(f"{kind:9} {counts[kind]:4} {100 * counts[kind] / max(1, total):5.1f} %")
    share = 100 * counts["compiled"] / max(1, counted)
    print(f"compiled  {counts['compiled']:4} {share:5.1f} % of the {counted} that are counted")


if __name__ == "__main__":
    main()
