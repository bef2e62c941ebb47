"""The constructs of the language, and which lines of a script file use them.

A construct is an entry of the tables that the tracer works by, or a name that `hidet.lang` hands
out. A file is traced, and each construct noted with the statement that it occurs in; it is tested
where comments for all levels stand right above that statement.
"""

import ast
import importlib
import pkgutil
import re
from contextlib import contextmanager
from types import ModuleType
from unittest import mock

import hidet
from hidet import lang
from hidet.frontends.script import (
    assignments,
    attributes,
    calls,
    evaluation,
    functional,
    statements,
)
from hidet.tools.script_file import PREFIXES, read_script_file

AROUND = (hidet.script, hidet.script_module)
"""Names of `hidet.lang` that are used outside of scripts only."""


def nodes_of_rules():
    """Return the classes of the syntax tree that the tracer has rules for, by name."""
    visits = [name for name in dir(statements.Statements) if name.startswith("visit_")]
    rules = [getattr(ast, name.removeprefix("visit_")) for name in visits]
    tables = (
        rules,
        functional.BINARY,
        functional.COMPARE,
        functional.UNARY,
        (ast.And, ast.Or),
    )
    return {f"syntax {kind.__name__}": kind for table in tables for kind in table}


def names_of_lang():
    """Return what the modules of `hidet.lang` export, by name; each thing once."""
    modules = [lang] + [
        importlib.import_module(info.name)
        for info in pkgutil.walk_packages(lang.__path__, "hidet.lang.")
    ]
    found = {}
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, ModuleType) and value not in AROUND:
                found.setdefault(id(value), (f"{module.__name__}.{name}", value))
    for value in calls.SUBSTITUTES:
        found.setdefault(id(value), (f"Python's {value.__module__}.{value.__name__}", value))
    return dict(found.values())


def attributes_of_kernels():
    """Return the attributes of kernels, and the values of those that take a few."""
    kinds = [f"attribute func_kind = {kind!r}" for kind in attributes.KINDS]
    return [f"attribute {name}" for name in attributes.ATTRIBUTES] + kinds


def all_constructs():
    """Return the names of all constructs."""
    return [*nodes_of_rules(), *names_of_lang(), *attributes_of_kernels()]


class Recorder:
    """Notes which constructs occur where, while scripts are traced."""

    def __init__(self):
        self.nodes = {kind: name for name, kind in nodes_of_rules().items()}
        exported = names_of_lang()
        self.objects = {id(value): name for name, value in exported.items()}
        self.classes = {value: name for name, value in exported.items() if isinstance(value, type)}
        self.names = set(attributes_of_kernels())
        self.lines = {}  # of each construct, the lines of the statements it occurs in
        self.statements = {}  # of each source, its statements by what is in them

    def note(self, name, line):
        """Note that a construct occurs in the statement that begins in a line."""
        self.lines.setdefault(name, set()).add(line)

    def note_value(self, value, line):
        """Record the value of a name or an attribute."""
        if id(value) in self.objects:
            self.note(self.objects[id(value)], line)
        for kind in type(value).__mro__:
            if kind in self.classes:
                self.note(self.classes[kind], line)

    def note_node(self, node, source):
        """Note the rule of a node, and the operators that it holds."""
        line = self.line_of(node, source)
        for each in (node, getattr(node, "op", None), *getattr(node, "ops", ())):
            if type(each) in self.nodes:
                self.note(self.nodes[type(each)], line)

    def line_of(self, node, source):
        """Return the line of the statement around a node."""
        known = self.statements.get(id(source))
        if known is None:
            known = {}
            for statement in ast.walk(source.function):  # the outer ones first
                if isinstance(statement, ast.stmt):
                    known.update((each, statement) for each in ast.walk(statement))
            self.statements[id(source)] = known
        return source.line_of(known.get(node, node))

    def note_function(self, function):
        """Note the types of the parameters of a function, in the line of its decorator."""
        for kind in [kind for name, kind in function.annotations.items() if name != "return"]:
            self.note_value(kind, function.source.first_line)
            self.note_value(getattr(kind, "element", None), function.source.first_line)

    @contextmanager
    def recording(self):
        """Note what is traced under it."""
        evaluate, execute = evaluation.Expressions.evaluate, statements.Statements.execute
        set_attribute, init = assignments.set_attribute, hidet.script

        def evaluated(tracer, node):
            value = evaluate(tracer, node)
            self.note_node(node, tracer.source)
            self.note_value(value, self.line_of(node, tracer.source))
            self.current = self.line_of(node, tracer.source)
            return value

        def executed(tracer, node):
            left = execute(tracer, node)
            self.note_node(node, tracer.source)
            return left

        def attribute_set(base, name, value):
            set_attribute(base, name, value)
            key = ".".join((*base.path, name)).replace("cuda.", "cuda_")
            for construct in (f"attribute {key}", f"attribute {key} = {value!r}"):
                if construct in self.names:
                    self.note(construct, self.current)

        def scripted(function):
            made = init(function)
            self.note_function(made)
            return made

        with (
            mock.patch.object(evaluation.Expressions, "evaluate", evaluated),
            mock.patch.object(statements.Statements, "execute", executed),
            mock.patch.object(assignments, "set_attribute", attribute_set),
            mock.patch.object(hidet, "script", scripted),
        ):
            yield


_DIRECTIVE = re.compile(r"#\s*([A-Z]+)(?:-[A-Z]+)*(?:{.*})?:")


def has_checks(lines, number):
    """Return whether comments for every level precede a line, counted from 1."""
    prefixes = set()
    for line in reversed(lines[: number - 1]):
        if not line.lstrip().startswith("#"):
            break
        found = _DIRECTIVE.match(line.lstrip())
        if found:
            prefixes.add(found[1])
    return all(prefixes & set(names.split(",")) for names in PREFIXES.values())


def tested_constructs(path):
    """Return the constructs that occur in a file right below comments for every level."""
    recorder = Recorder()
    with recorder.recording():
        read_script_file(path)
    text = path.read_text().splitlines()
    return {
        name
        for name, lines in recorder.lines.items()
        if any(has_checks(text, number) for number in lines)
    }
