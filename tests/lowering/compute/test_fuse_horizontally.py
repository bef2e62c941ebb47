"""The limits of `fuse-horizontally`."""

import pytest
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.dialects.compute import FusionOp
from hidet.dialects.walking import ops_in, ops_of_class
from hidet.lowering.compute.fuse import FusePass
from hidet.lowering.compute.fuse_horizontally import MAX_OPS, MAX_POINTERS, FuseHorizontallyPass

COUNT = 120


def grid(number, reads, functions):
    """Return the text of a grid that applies functions to a sum of arguments."""
    kind = f"tensor<{1 + number}xf32>"
    body = [f"%s0 = compute.load %x{number}_0[%i] : {kind}"]
    for n in range(1, reads):
        body.append(f"%a{n} = compute.load %x{number}_{n}[%i] : {kind}")
        body.append(f"%s{n} = arith.addf %s{n - 1}, %a{n} : f32")
    body += [f"%s{n} = math.exp %s{n - 1} : f32" for n in range(reads, reads + functions)]
    lines = "\n".join(body)
    last = f"compute.yield %s{reads + functions - 1} : f32"
    return f"%y{number} = compute.grid (%i) {{\n{lines}\n{last}\n}} : {kind}"


@pytest.mark.parametrize(("reads", "functions", "limit"), [(10, 0, "pointers"), (1, 30, "ops")])
def test_size_of_kernels(reads, functions, limit):
    """Kernels are as large as their arguments, and the time to compile them, allow."""
    kinds = [f"tensor<{1 + number}xf32>" for number in range(COUNT)]
    arguments = ", ".join(
        f"%x{number}_{n} : {kind}" for number, kind in enumerate(kinds) for n in range(reads)
    )
    results = ", ".join(f"%y{number}" for number in range(COUNT))
    grids = "\n".join(grid(number, reads, functions) for number in range(COUNT))
    text = f"""func.func @forward({arguments}) -> ({", ".join(kinds)}) {{
      {grids}
      func.return {results} : {", ".join(kinds)}
    }}"""
    module = Parser(make_context(), text).parse_module()
    for each in (FusePass(), FuseHorizontallyPass()):
        each.apply(make_context(), module)
    module.verify()
    fusions = ops_of_class(module, FusionOp)
    assert sum(len(fusion.results) for fusion in fusions) == COUNT
    pointers = max(len(fusion.operands) + len(fusion.results) for fusion in fusions)
    ops = max(len(ops_in(fusion)) for fusion in fusions)
    assert 8 * pointers <= 4096, "the bytes of arguments"
    assert pointers <= MAX_POINTERS
    assert ops <= MAX_OPS
    share = {"pointers": pointers / MAX_POINTERS, "ops": ops / MAX_OPS}[limit]
    assert share > 0.8
