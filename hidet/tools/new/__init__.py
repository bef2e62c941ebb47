"""`hidet new`: writes the files of a new pass, operation or the like, which pass all tests.

They implement an example; "Replace:" marks what the author replaces. The templates of the files are
in this folder.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

from xdsl.dialects.math import Math
from xdsl.irdl import IRDLOperation

from hidet.arch.functions import FLOAT_FUNCTIONS, FUNCTIONS, Operand
from hidet.backend.printer.math import EXPRESSIONS
from hidet.dialects.graph import Graph
from hidet.errors import HidetError
from hidet.frontends.script.mathematics import MATH_FUNCTIONS
from hidet.universe import DIALECTS, PASSES, STAGES, class_name

TEXTS = Path(__file__).parent


def fill(text: str, **names: str) -> str:
    """Return a template of this folder with names substituted."""
    return Template((TEXTS / f"{text}.txt").read_text()).substitute(names)


@dataclass(frozen=True)
class Tree:
    """A checkout; all methods return the path that they have changed.

    Raises:
        HidetError: the folder is not a checkout.
    """

    root: Path

    def __post_init__(self) -> None:
        for needed in ("hidet/universe.py", "lit_tests", "CHANGELOG.md"):
            if not (self.root / needed).exists():
                raise HidetError(
                    f"new files belong to a checkout of hidet, and there is no {needed}",
                    where=str(self.root.absolute()),
                    hint="run it in the root of the repository, or give --root",
                )

    def write(self, path: str, text: str) -> str:
        """Write a new file.

        Raises:
            HidetError: it exists.
        """
        file = self.root / path
        if file.exists():
            raise HidetError("there is such a file already", where=path, hint="choose another name")
        file.write_text(text)
        return path

    def append(self, path: str, text: str) -> str:
        """Add text at the end of a file."""
        file = self.root / path
        file.write_text(file.read_text() + text)
        return path

    def insert(self, path: str, text: str, *, after: str = "\n", before: str = "") -> str:
        """Add text at the first place between two others.

        Raises:
            HidetError: there is no such place.
        """
        file = self.root / path
        content = file.read_text()
        start = content.find(after + before)
        if start < 0:
            raise HidetError(f"there is no '{(after + before).strip()}'", where=path)
        start += len(after)
        file.write_text(content[:start] + text + content[start:])
        return path


def _check_name(name: str, form: str, example: str) -> None:
    if not re.fullmatch(form, name):
        raise HidetError(f"'{name}' is no name here", hint=f"a name looks like {example}")


def _note(tree: Tree, section: str, text: str) -> str:
    return tree.insert("CHANGELOG.md", f"- {text}\n", after=f"\n### {section}\n\n")


def new_pass(tree: Tree, name: str, stage: str) -> list[str]:
    """Write a pass, its entry in the registry, its lit test and its changelog entry.

    Passes of the stages task and cuda run on one kernel at a time (`KernelPass`). The entry follows
    those of the other passes of the stage.
    """
    _check_name(name, "[a-z][a-z0-9]*(-[a-z0-9]+)*", "'fold-casts'")
    if name in PASSES:
        raise HidetError(f"there is a pass '{name}' already", where=PASSES[name])
    module = name.replace("-", "_")
    kind = "kernel_pass" if stage in ("task", "cuda") else "pass"
    last = STAGES[stage].split()[-1]
    return [
        tree.write(
            f"hidet/lowering/{stage}/{module}.py",
            fill(f"{kind}.py", name=name, title=class_name(name)),
        ),
        tree.insert("hidet/universe.py", f"        {name}\n", after=f" {last}\n"),
        tree.write(f"lit_tests/lowering/{stage}/{module}.mlir", fill(f"{kind}.mlir", name=name)),
        _note(tree, "The compiler", f"The pass `{name}`."),
    ]


_OPERANDS = {
    "scalar": {
        "imported": "ContainerType",
        "constraint": "AnyAttr",
        "argument": "",
        "is_wrong": "isinstance(self.x.type, ContainerType)",
        "takes": "a scalar",
        "type": "f32",
        "wrong": "memref<4xf32>",
    },
    "integer": {
        "imported": "IntegerType",
        "constraint": "BaseAttr",
        "argument": "IntegerType",
        "is_wrong": "self.x.type.width.data > 64",
        "takes": "64 bits at most",
        "type": "i32",
        "wrong": "i128",
    },
}
"""What a new operation takes, by the kind of its operand."""


def new_op(tree: Tree, name: str, operand: str = "scalar") -> list[str]:
    """Write an operation such as `task.copy`, its lit tests and its changelog entry."""
    _check_name(name, "[a-z]+[.][a-z][a-z0-9]*(_[a-z0-9]+)*", "'task.copy'")
    dialect, op = name.split(".")
    if dialect == "graph":
        raise HidetError("operations of graph are operators", hint=f"use: hidet new operator {op}")
    if dialect not in DIALECTS:
        raise HidetError(f"there is no dialect '{dialect}', only {', '.join(DIALECTS)}")
    words = {"dialect": dialect, "op": op, "title": class_name(op), **_OPERANDS[operand]}
    tests = f"lit_tests/dialects/{dialect}/{op}"
    return [
        tree.write(f"hidet/dialects/{dialect}/{op}.py", fill("op.py", **words)),
        tree.write(f"{tests}.mlir", fill("op.mlir", **words)),
        tree.write(f"{tests}_verify.mlir", fill("op_verify.mlir", **words)),
        _note(tree, "The compiler", f"The operation `{name}`."),
    ]


def _join(operands: tuple[str, ...], form: str) -> str:
    return ", ".join(form.format(operand) for operand in operands)


_FAMILIES: dict[int, tuple[str, tuple[str, ...], str]] = {
    1: ("_float_unary", ("x",), "%x : tensor<2x3xf32>"),
    2: (
        "_float_binary",
        ("x", "y"),
        "%x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
    ),
}
"""What defines the operation, the operands and the text of operators of a number of tensors."""


def _is_decomposed(name: str, operands: int) -> bool:
    """Return whether torch decomposes the operator of a name on a number of tensors.

    Raises:
        HidetError: there is none, or hidet decomposes it.
    """
    from hidet.frontends.torch.decomposed import DECOMPOSED  # imports torch
    from hidet.frontends.torch.decompositions import decompositions
    from hidet.frontends.torch.nodes import overloads_of

    overloads = set(overloads_of(name, operands))
    if not overloads:
        raise HidetError(
            f"PyTorch has no operator 'aten.{name}' whose only arguments are {operands} tensors",
            hint="CONTRIBUTING.md, 'Add an operator of PyTorch', shows how others are added",
        )
    if not overloads.isdisjoint(DECOMPOSED):
        raise HidetError(
            f"hidet decomposes 'aten.{name}' into other operators",
            hint="see hidet/frontends/torch/decomposed/; what is there never becomes one operation",
        )
    return overloads <= decompositions().keys()


def new_operator(tree: Tree, name: str, operands: int | None = None) -> list[str]:
    """Write an elementwise operator on float tensors, its lit test and its changelog entry.

    The ATen operator of this name is translated to it, and not decomposed by torch any more. It
    applies the scalar function of this name, and by default takes as many tensors as that takes
    numbers; if there is none, its author writes a rule.
    """
    _check_name(name, "[a-z][a-z0-9]*(_[a-z0-9]+)*", "'hypot'")
    scalar = scalar_named(name)
    count = operands or (scalar.operands if scalar else 1)
    if scalar is not None and scalar.operands != count:
        raise HidetError(
            f"the scalar function '{name}' takes {scalar.operands} numbers, not {count}"
        )
    if name in (op.name.removeprefix("graph.") for op in Graph.operations):
        raise HidetError(f"there is an operator 'graph.{name}' already")
    is_decomposed = _is_decomposed(name, count)
    (family, names, text), title = _FAMILIES[count], class_name(name)
    summary = scalar.summary if scalar else f"Replace: what {name} gives"
    changed: list[str] = []
    if scalar is None:
        rules = "hidet/lowering/graph/compute_rules/scalars.py"
        rule = fill("rule.py", name=name, parameters=_join(names, "{}: SSAValue"))
        tree.insert(rules, rule, before="SCALAR_RULES: ")
        changed.append(
            tree.insert(rules, f"    graph.{title}Op: {name},\n", before="    graph.WhereOp: ")
        )
    if is_decomposed:
        kept, line = "hidet/frontends/torch/decompositions.py", f"    aten.{name}: "
        changed.append(
            tree.insert(kept, f'{line}"Replace: why it is kept",\n', before="    aten.all: ")
        )
    fields = f'"{name}", "{summary}."{f", {scalar.source}" if scalar else ""}'
    operation = f"{title}Op = {family}({fields})\n"
    if len(operation) > 101:
        operation = f"{title}Op = {family}(\n    {fields}\n)\n"
    lit_test = fill(
        "operator.mlir",
        name=name,
        operation=f"graph.{name} {text}",
        parameters=_join(names, "%{} : tensor<2x3xf32>"),
        lowered=scalar.text if scalar else "compute.grid",
    )
    return [
        tree.append("hidet/dialects/graph/elementwise.py", operation),
        *changed,
        tree.write(f"lit_tests/dialects/graph/{name}.mlir", lit_test),
        _note(tree, "PyTorch", f"The operator `{name}`."),
    ]


def new_instruction(tree: Tree, name: str, operands: int | None = None) -> list[str]:
    """Write a scalar function of floats, its lit test and its changelog entry.

    This is a row in the table of scalar functions, with its semantics in Python, and its body in
    the device header, which the GPU and the CPU share. `hidet.lang.math` exports it.
    """
    _check_name(name, "[a-z][a-z0-9]*(_[a-z0-9]+)*", "'fdim'")
    if name in FUNCTIONS or name in MATH_FUNCTIONS:
        raise HidetError(f"there is a function '{name}' already")
    taken = _FAMILIES[operands or 1][1]
    words = {
        "name": name,
        "parameters": _join(taken, "{}: float"),
        "body_parameters": _join(taken, "T {}"),
        "script_parameters": _join(taken, "{}: f32"),
        "values": _join(taken, "%{}"),
        "types": ", ".join(["f32"] * len(taken)),
        "arguments": _join(taken, "{}"),
    }
    table, header = "hidet/arch/functions.py", "hidet/backend/device/hidet_scalar.h"
    row = f'    ("{name}", "{"f" * len(taken)}->f", _{name}, "Replace: what it gives"),\n'
    tree.insert(table, fill("instruction_meaning.py", **words), before="_KINDS = ")
    return [
        tree.insert(table, row, before='    ("isnan"'),
        tree.insert(header, fill("instruction_body.h", **words), before="}  // namespace hidet"),
        tree.write(f"lit_tests/frontends/script/{name}.py", fill("instruction_script.py", **words)),
        _note(tree, "Scripts", f"`hidet.lang.math.{name}`."),
    ]


_NEXT_STEPS = {
    "pass": (
        "",
        "replace the pattern, the docstrings and the cases of the lit test",
        "add it to a pipeline with a reason in hidet/lowering/pipelines.py, and to the table in "
        "docs/architecture.md",
    ),
    "op": (
        " tests/dialects",
        "replace the operands, the verifier and the cases of the lit tests",
        "lower it in a pass, or print it: a row of a table in hidet/backend/printer/",
    ),
    "operator": (
        " tests/lowering/graph/test_elementwise.py tests/frontends/torch/test_operators.py",
        "replace the summary and, where there are, the reason in decompositions.py and the rule in "
        "hidet/lowering/graph/compute_rules/scalars.py",
        "for hidet.ops: a line in hidet/frontends/trace/operators/, and a case of it in "
        "tests/frontends/trace/cases.py",
        "list it: python -m hidet.frontends.torch.listing > docs/operators.md",
    ),
    "instruction": (
        " tests/arch/test_functions.py tests/frontends/script/test_scalar_functions.py",
        "replace the bodies, in Python and in the device header, and the summary",
        "add a reference to tests/arch/test_functions.py",
        "list it: python tests/test_names_page.py",
    ),
}
"""The tests that walk the tables of the new entry, besides that of the registry; then the steps."""


def next_steps(what: str, changed: list[str]) -> str:
    """Return what the author of a new pass, operation or the like does with the changed files."""
    tests = " ".join(path for path in changed if path.startswith("lit_tests/"))
    others, *steps = _NEXT_STEPS[what]
    steps.append(f"run: .venv/bin/pytest {tests} tests/test_registry.py{others}")
    return "\n".join(["Next, as CONTRIBUTING.md explains:", *(f"  - {step}" for step in steps)])


@dataclass(frozen=True)
class ScalarFunction:
    """A function of floats that returns a float.

    Attributes:
        source: the Python expression of its factory: an operation of `math`, or a library call.
        text: the beginning of its text in the IR.
    """

    source: str
    text: str
    operands: int
    summary: str


def scalar_named(name: str) -> ScalarFunction | None:
    """Return the function of a name, None if there is none on floats."""
    entry = FLOAT_FUNCTIONS.get(name)
    if entry is not None and {*entry.takes, entry.gives} == {Operand.FLOAT}:
        summary = entry.summary[0].upper() + entry.summary[1:]
        return ScalarFunction(
            f'library("{name}")', f'cuda.function "{name}"', len(entry.takes), summary
        )
    for op in Math.operations:
        if op.name == f"math.{name}" and op.name in EXPRESSIONS:
            assert issubclass(op, IRDLOperation)
            count = len(op.get_irdl_definition().operands)
            return ScalarFunction(f"math.{op.__name__}", op.name, count, f"The function {name}")
    return None
