"""Data movement: reshaping, slicing, padding, gathering, scattering, conversion, quantization."""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from itertools import chain
from math import prod
from types import EllipsisType
from typing import Any, Concatenate, NamedTuple, ParamSpec

import torch
from torch.nn import functional as nn

from hidet.errors import HidetError
from hidet.frontends.trace.recording import Ints, T, operator
from hidet.frontends.trace.tracing import torch_dtype

P = ParamSpec("P")


class Slice(NamedTuple):
    """A hashable Python slice."""

    start: int | None
    stop: int | None
    step: int | None


def _list(dims: Ints) -> list[int]:
    return [dims] if isinstance(dims, int) else list(dims)


@operator
def index(x: T, *key: T | Slice | int | EllipsisType | None) -> T:
    """Return `x[key]`."""
    return x[tuple(slice(*each) if isinstance(each, Slice) else each for each in key)]


@operator
def as_strided(
    x: T, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> T:
    """Return a strided view of the memory of a contiguous tensor."""
    return torch.as_strided(x, size, stride, storage_offset)


@operator
def broadcast(data: T, shape: Sequence[int]) -> T:
    """Return a tensor broadcast to a shape."""
    return torch.broadcast_to(data, tuple(shape))


@operator
def cast(x: T, dtype: Any) -> T:
    """Return the elements converted to another type."""
    return x.to(torch_dtype(dtype))


@operator
def concat(tensors: Sequence[T], axis: int) -> T:
    """Return tensors concatenated along an axis."""
    return torch.cat(list(tensors), axis)


@operator
def conv_pad(data: T, pads: Ints, value: float = 0.0) -> T:
    """Return images [n, c, ...] padded with a value.

    `pads` is a number, one per dimension, or all leading pads, then all trailing ones.
    """
    rank = data.dim() - 2
    listed = _list(pads)
    each = listed * rank if len(listed) == 1 else listed
    fronts, backs = (each, each) if len(each) == rank else (each[:rank], each[rank:])
    return nn.pad(data, _torch_pads(fronts, backs), value=value)


@operator
def einops_rearrange(x: T, pattern: str, **axes_lengths: int) -> T:
    """Return a tensor whose dimensions are split, permuted and merged according to a pattern.

    It is such as "b (h w) c -> b c h w"; `...` matches any number of dimensions. `axes_lengths` are
    the sizes of names in parentheses; one per group is inferred.
    """
    before, arrow, after = pattern.partition("->")
    if not arrow:
        raise HidetError(f"pattern '{pattern}' without '->'")
    rest = x.dim() - len(_groups(before, [])) if "..." in before else 0
    others = [f".{number}" for number in range(rest)]
    old, new = _groups(before, others), _groups(after, others)
    if len(old) != x.dim():
        raise HidetError(f"the pattern '{pattern}' is for rank {len(old)}; x has {x.dim()}")
    names, wanted = list(chain(*old)), list(chain(*new))
    if sorted(names) != sorted(wanted) or len({*names}) < len(names):
        raise HidetError(f"both sides of '{pattern}' must contain the same names, each once")
    sizes = dict(axes_lengths)
    for group, size in zip(old, x.shape, strict=True):
        _infer(group, size, sizes)
    parts = x.reshape([sizes[name] for name in names])
    moved = parts.permute([names.index(name) for name in wanted])
    return moved.reshape([prod(sizes[name] for name in group) for group in new])


def _groups(side: str, others: list[str]) -> list[list[str]]:
    """Return the names of each dimension on one side of a pattern."""
    spelled = side.replace("...", " ".join(others))
    found = re.findall(r"\(([^()]*)\)|(\S+)", spelled)
    return [[name for name in (inner + one).split() if name != "1"] for inner, one in found]


def _infer(group: list[str], size: int, sizes: dict[str, int]) -> None:
    """Infer the size of the only unknown name in the group of a dimension."""
    unknown = [name for name in group if name not in sizes]
    known = prod(sizes[name] for name in group if name in sizes)
    if len(unknown) > 1 or size % known or (not unknown and size != known):
        given = ", ".join(f"{name}={sizes.get(name, '?')}" for name in group)
        raise HidetError(f"a dimension of size {size} cannot be split into {given}")
    if unknown:
        sizes[unknown[0]] = size // known


@operator
def expand_dims(x: T, /, *, axis: int = 0) -> T:
    """Return a tensor with a new dimension of size 1."""
    return torch.unsqueeze(x, axis)


@operator
def flatten(x: T, start_dim: int = 0, end_dim: int = -1) -> T:
    """Return a tensor with a range of dimensions, `end_dim` included, merged into one."""
    first, last = start_dim % max(x.dim(), 1), end_dim % max(x.dim(), 1)
    return x.reshape([*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :]])


@operator
def flip(x: T, dims: Ints) -> T:
    """Return the elements in reverse order along dimensions."""
    return torch.flip(x, _list(dims))


@operator
def gather(data: T, indices: T, axis: int = 0) -> T:
    """Return for each element of `indices` the element at that index along an axis."""
    return torch.gather(data, axis, indices)


@operator
def im2col(x: T, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> T:
    """Return the windows of images [n, c, h, w] as columns: [n, c * kh * kw, windows]."""
    return nn.unfold(x, kernel_size, dilation, padding, stride)


@operator
def index_select(data: T, index: T, dim: int) -> T:
    """Return the slices of a dimension at the indices in a tensor of rank 1."""
    return torch.index_select(data, dim, index)


@operator
def meshgrid(*tensors: T, indexing: str = "ij") -> Sequence[T]:
    """Return tensors of rank 1, each broadcast along its own dimension of a grid."""
    return list(torch.meshgrid(*tensors, indexing=indexing))


@operator
def pad(data: T, pads: Sequence[int], mode: str = "constant", value: float = 0.0) -> T:
    """Return a padded tensor; `pads` are all leading pads, then all trailing ones.

    Padding elements have the value if `mode` is "constant", like torch's `pad`.
    """
    if len(pads) != 2 * data.dim():
        raise HidetError(
            f"{len(pads)} pads for a tensor of rank {data.dim()}; expected {2 * data.dim()}"
        )
    order = _torch_pads(pads[: data.dim()], pads[data.dim() :])
    return nn.pad(data, order, mode=mode, value=value if mode == "constant" else None)


def _torch_pads(fronts: Sequence[int], backs: Sequence[int]) -> list[int]:
    """Return pads in torch's format: pairs, from the last dimension to the first."""
    return [pad for pair in reversed(list(zip(fronts, backs, strict=True))) for pad in pair]


@operator
def permute_dims(x: T, /, axes: Sequence[int]) -> T:
    """Return a tensor with permuted dimensions."""
    return torch.permute(x, tuple(axes))


@operator
def rearrange(x: T, plan: Sequence[Sequence[int]]) -> T:
    """Return a tensor whose dimensions merge those of x, by a plan such as `[[0, 2], [1], []]`."""
    order = [dim for dims in plan for dim in dims]
    return x.permute(order).reshape([prod(x.shape[dim] for dim in dims) for dims in plan])


@operator
def repeat_interleave(data: T, repeats: int, dim: int | None = None) -> T:
    """Return each slice of a dimension, or each element of the flat tensor, repeated."""
    return torch.repeat_interleave(data, repeats, dim)


@operator
def reshape(x: T, shape: Sequence[int]) -> T:
    """Return the elements in another shape; one size may be -1."""
    return torch.reshape(x, tuple(shape))


def in_place(function: Callable[Concatenate[T, P], T]) -> Callable[..., Any]:
    """Return an operator that overwrites its first tensor with the result, unless symbolic."""
    compute = operator(function)

    @wraps(function)
    def call(input: Any, *arguments: object, **keywords: object) -> Any:
        result = compute(input, *arguments, **keywords)
        if result.is_symbolic():
            return result
        input.torch().copy_(result.torch())
        return input

    return call


@in_place
def scatter_(input: T, dim: int, index: T, src: T, reduce: str | None = None) -> T:
    """Return `input`, modified unless symbolic, with the elements of `src` scattered along `dim`.

    `index` is that of each element; `reduce`, "add" or "multiply", combines with existing elements.
    """
    names = {"add": "sum", "multiply": "prod"}
    if reduce is None or reduce == "replace":
        return torch.scatter(input, dim, index, src)
    return torch.scatter_reduce(input, dim, index, src, names.get(reduce, reduce))


@in_place
def scatter_add_(input: T, dim: int, index: T, src: T) -> T:
    """Return `input` with the elements of `src` added; see `scatter_`."""
    return torch.scatter_add(input, dim, index, src)


@operator
def embedding_bag(indices: T, weight: T, offsets: T | None = None, mode: str = "mean") -> T:
    """Return the mean, sum or maximum of the table rows in each bag of indices [bags, size]."""
    if offsets is not None:
        return nn.embedding_bag(indices, weight, offsets, mode=mode)
    rows = nn.embedding(indices, weight)
    return rows.amax(1) if mode == "max" else rows.sum(1) if mode == "sum" else rows.mean(1)


@operator
def split(data: T, parts_or_sections: int | Sequence[int], axis: int = 0) -> Sequence[T]:
    """Return parts of a tensor along an axis, by their number or by their sizes."""
    if not isinstance(parts_or_sections, int):
        return list(torch.split(data, list(parts_or_sections), axis))
    size = data.shape[axis]
    if parts_or_sections < 1 or size % parts_or_sections:
        raise HidetError(
            f"an axis of size {size} cannot be split into {parts_or_sections} equal parts"
        )
    return list(torch.split(data, [size // parts_or_sections] * parts_or_sections, axis))


@operator
def squeeze(x: T, dims: Ints) -> T:
    """Return a tensor without some dimensions of size 1."""
    wrong = [dim for dim in _list(dims) if x.shape[dim] != 1]
    if wrong:
        raise HidetError(f"dimension {wrong[0]} of shape {tuple(x.shape)} is not of size 1")
    return torch.squeeze(x, tuple(_list(dims)))


@operator
def strided_slice(
    data: T,
    starts: Sequence[int | None],
    ends: Sequence[int | None],
    axes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> T:
    """Return a slice with bounds as in Python, along `axes`, or the first ones by default."""
    key = [slice(None)] * data.dim()
    steps = [1] * len(starts) if strides is None else strides
    sliced = range(len(starts)) if axes is None else axes
    for axis, *bounds in zip(sliced, starts, ends, steps, strict=True):
        key[axis] = slice(*bounds)
    return data[tuple(key)]


@operator
def set_strided_slice(
    data: T,
    setvalue: T | float,
    starts: Sequence[int | None],
    ends: Sequence[int | None],
    index_dims: Sequence[int],
    strides: Sequence[int | None] | None = None,
) -> T:
    """Return a copy of `data` with a slice replaced.

    The new elements are a number, or a tensor that broadcasts to the slice. There are bounds, as in
    Python, of the first dimensions. Those in `index_dims` are indexed at their start; `setvalue`
    does not have them.
    """
    steps = [None] * len(starts) if strides is None else strides
    parts, ranges = [data], list[tuple[int, int, int]]()
    for dim, bounds in enumerate(zip(starts, ends, steps, strict=True)):
        first, size = bounds[0] or 0, data.shape[dim]
        only = (first % size, first % size + 1, 1)
        ranges.append(only if dim in index_dims else slice(*bounds).indices(size))
        parts.append(parts[-1][(slice(None),) * dim + (slice(*ranges[-1]),)])
    shape = [size for dim, size in enumerate(parts[-1].shape) if dim not in index_dims]
    is_tensor = isinstance(setvalue, torch.Tensor)
    changed = setvalue.to(data.dtype).expand(shape) if is_tensor else data.new_full(shape, setvalue)
    for dim in sorted(index_dims):
        changed = changed.unsqueeze(dim)
    for dim, bounds in reversed(list(enumerate(ranges))):
        if bounds[2] == 1:
            changed = torch.slice_scatter(parts[dim], changed, dim, *bounds)
        else:
            positions = torch.arange(*bounds, device=data.device)
            changed = torch.index_copy(parts[dim], dim, positions, changed)
    return changed


@operator
def take(data: T, indices: T, axis: int = 0) -> T:
    """Return the slices of an axis at indices, whose dimensions replace the axis."""
    axis %= data.dim()
    shape = (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :])
    return torch.index_select(data, axis, indices.reshape(-1)).reshape(shape)


@operator
def tile(data: T, repeats: Sequence[int]) -> T:
    """Return a tensor repeated along each dimension."""
    return torch.tile(data, tuple(repeats))


@operator
def transpose(x: T, axes: Sequence[int] | None = None) -> T:
    """Return a tensor with permuted dimensions, in reverse order by default."""
    return torch.permute(x, tuple(reversed(range(x.dim())) if axes is None else axes))


@operator
def tril(x: T, diagonal: int = 0) -> T:
    """Return matrices with zeros above a diagonal."""
    return torch.tril(x, diagonal)


@operator
def triu(x: T, diagonal: int = 0) -> T:
    """Return matrices with zeros below a diagonal."""
    return torch.triu(x, diagonal)


@operator
def unsqueeze(x: T, dims: Ints) -> T:
    """Return a tensor with new dimensions of size 1, at these positions of the result."""
    return _unsqueezed(x, dims)


def _unsqueezed(x: T, dims: Ints) -> T:
    rank = x.dim() + len(_list(dims))
    for dim in sorted(dim % rank for dim in _list(dims)):
        x = torch.unsqueeze(x, dim)
    return x


@operator
def view(x: T, dtype: Any = None, shape: Sequence[int] | None = None) -> T:
    """Return the same memory with another element type or shape."""
    viewed = x if dtype is None else x.view(torch_dtype(dtype))
    return viewed if shape is None else viewed.reshape(tuple(shape))


@operator
def symmetric_quantize(w: T, quant_type: str = "int8", dims: Ints = -1) -> Sequence[T]:
    """Return integers q and scales s with w ~ q * s; s is shared along `dims`."""
    integers = torch_dtype(quant_type)
    limit = torch.iinfo(integers).max
    scale = w.abs().amax(dims, keepdim=True) / limit
    quantized = torch.round(w / torch.where(scale == 0, 1.0, scale)).clamp(-limit, limit)
    return [quantized.to(integers), scale.squeeze(dims)]


@operator
def symmetric_dequantize(wq: T, scale: T, dims: Ints = -1) -> T:
    """Return an approximation of the operand of `symmetric_quantize`."""
    return wq.to(scale.dtype) * _unsqueezed(scale, dims)
