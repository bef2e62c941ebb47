"""Aliases: which attributes get one, and that the text says the same."""

import pytest
from xdsl.parser import Parser

from hidet.context import make_context
from hidet.dialects.alias_printer import module_text

LONG = "#task.map<repeat(2, 1) * spatial(8, 4) * repeat(1, 2)>"
OTHER = "#task.map<repeat(1, 2) * spatial(8, 4) * repeat(2, 1)>"
SHORT = "#task.map<spatial(4, 2)>"


def parse(text):
    """Read a program."""
    return Parser(make_context(), text).parse_module()


def tiles(*maps):
    """Write a program with a 16x8 tile for each map."""
    return "\n".join(
        f'%{i} = "test.op"() : () -> memref<{"4x2" if m == SHORT else "16x8"}xf32, {m}>'
        for i, m in enumerate(maps)
    )


def test_repeated_attribute_gets_one_alias():
    """An attribute that stands twice is written once."""
    text = module_text(parse(tiles(LONG, LONG)))
    assert text.count(LONG) == 1
    assert text.startswith(f"#m0 = {LONG}\n")
    assert text.count("memref<16x8xf32, #m0>") == 2


def test_aliases_are_numbered_in_order_of_use():
    """The numbers follow the text."""
    text = module_text(parse(tiles(OTHER, LONG, LONG, OTHER)))
    assert text.startswith(f"#m0 = {OTHER}\n#m1 = {LONG}\n")


def test_no_alias():
    """What stands once, or is short, stays where it is."""
    text = module_text(parse(tiles(LONG, SHORT, SHORT)))
    assert "#m0" not in text
    assert text.count(SHORT) == 2


@pytest.mark.parametrize("generic", [False, True])
@pytest.mark.parametrize("locations", [False, True])
def test_text_is_the_same_program(generic, locations):
    """The text with aliases parses to an equal program."""
    module = parse(tiles(LONG, OTHER, LONG, SHORT, OTHER))
    text = module_text(module, generic=generic, locations=locations)
    assert ('"builtin.module"' in text) is generic
    assert ("loc(" in text) is locations
    assert parse(text).is_structurally_equivalent(module)
