"""Attention, compiled as in a model: torch against hidet, in one run on one GPU.

    python benchmarks/attention.py [--problems heads,queries,keys,width[,causal] ...]
                                   [--dtype bfloat16]

Heads are those of all sequences. Times are medians of runs of 20 launches, and torch's are of the
kernel that `scaled_dot_product_attention` chooses.
"""

import argparse
import math
from functools import partial
from typing import NamedTuple

import torch
from clock import microseconds
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.driver import compile_graph
from hidet.runtime.compiled_graph import CompiledGraph

IR_TYPES = {torch.float16: "f16", torch.bfloat16: "bf16"}

TOLERANCES = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""The largest relative error of a result, in the norm."""


class Sizes(NamedTuple):
    """Queries [heads, queries, width] and keys [heads, keys, width]."""

    heads: int
    queries: int
    keys: int
    width: int
    causal: bool = False

    @classmethod
    def parse(cls, text: str) -> "Sizes":
        """Return the sizes that a text says."""
        numbers = text.removesuffix(",causal").split(",")
        return cls(*map(int, numbers), causal=text.endswith(",causal"))


PROBLEMS = (
    "12,128,128,64",  # BERT-base, one sequence
    "768,197,197,64",  # ViT-B, 64 images
    "32,512,512,64,causal",  # Llama-3.2-1B, prefill
    "384,512,512,64",  # BERT-base, 32 sequences
    "12,1024,1024,64,causal",  # GPT-2
    "32,4096,4096,128,causal",  # Llama-3-8B, prefill
)


def build(sizes: Sizes, dtype: torch.dtype) -> CompiledGraph:
    """Compile attention."""
    heads, queries, keys, width, causal = sizes
    q, k = (f"tensor<{heads}x{n}x{width}x{IR_TYPES[dtype]}>" for n in (queries, keys))
    how = f"{{causal = {str(causal).lower()}}}"
    text = f"""func.func @forward(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
      %y = graph.scaled_dot_product_attention %q, %k, %v {how} : ({q}, {k}, {k}) -> {q}
      func.return %y : {q}
    }}"""
    module = Parser(make_context(), text).parse_module()
    return compile_graph(module, device=torch.device("cuda"), options={"progress": "off"})


def measure(sizes: Sizes, dtype: torch.dtype) -> float:
    """Print the line of a problem; return torch's time over hidet's."""
    heads, queries, keys, width, causal = sizes
    lengths = (queries, keys, keys)
    tensors = [torch.randn(1, heads, n, width, device="cuda").to(dtype) for n in lengths]
    sdpa = partial(torch.nn.functional.scaled_dot_product_attention, is_causal=causal)
    graph, single = build(sizes, dtype), [each[0] for each in tensors]
    (y,) = graph.run(single, [])
    # Eight heads: the scores of all would not fit into memory in float64.
    some = slice(None, None, max(1, heads // 8))
    reference = sdpa(*(each[:, some].double() for each in tensors))[0]
    error = float((y[some].double() - reference).norm() / reference.norm())
    if not error < TOLERANCES[dtype]:
        raise SystemExit(f"{sizes} in {dtype} is off by {error:.1e}")
    rival, time = microseconds(lambda: sdpa(*tensors)), microseconds(lambda: graph.run(single, []))
    text = ",".join(map(str, sizes[:4])) + ",causal" * causal
    print(f"{text:26} {rival:9.1f} {time:9.1f} {rival / time:6.2f} {error:7.1e}", flush=True)
    return rival / time


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Measure attention.")
    parser.add_argument("--problems", nargs="+", default=PROBLEMS, help="h,q,k,w[,causal]")
    parser.add_argument("--dtype", default="float16", help="of torch")
    arguments = parser.parse_args()
    dtype = getattr(torch, arguments.dtype)
    print(f"{'problem':26} {'torch us':>9} {'hidet us':>9} {'ratio':>6} {'error':>7}")
    ratios = [measure(Sizes.parse(each), dtype) for each in arguments.problems]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, worst {min(ratios):.2f}")


if __name__ == "__main__":
    main()
