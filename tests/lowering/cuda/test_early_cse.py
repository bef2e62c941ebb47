"""The work of `early-cse`."""

from xdsl.parser import Parser

from hidet.context import make_context
from hidet.lowering.cuda import early_cse
from hidet.lowering.cuda.early_cse import EarlyCsePass


def queries(count, monkeypatch):
    """Return how often memory is compared in a kernel that updates so many arguments."""
    arguments = ", ".join(f"%x{n} : memref<4xf32>" for n in range(count))
    updates = "\n".join(
        f"""%v{n} = memref.load %x{n}[%t] : memref<4xf32>
            %w{n} = arith.addf %v{n}, %v{n} : f32
            memref.store %w{n}, %x{n}[%t] : memref<4xf32>"""
        for n in range(count)
    )
    text = f"""cuda.kernel @update({arguments}) grid(1) block(4) {{
        %t = cuda.thread_id x
        {updates}
    }}"""
    module, made = Parser(make_context(), text).parse_module(), []
    may_alias = early_cse.may_alias
    with monkeypatch.context() as patch:
        patch.setattr(
            early_cse, "may_alias", lambda *pair: [made.append(pair), may_alias(*pair)][1]
        )
        EarlyCsePass().apply(make_context(), module)
    return len(made)


def test_arguments(monkeypatch):
    """A load is not compared with all memory that has been written."""
    assert queries(80, monkeypatch) <= 2 * queries(40, monkeypatch)
