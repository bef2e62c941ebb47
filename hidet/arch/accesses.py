"""The instruction table of accesses to memory: with cache hints, and in an order with others."""

from __future__ import annotations

from hidet.arch.instructions import Access, Instruction, Operand

_LOAD = "Data Movement and Conversion Instructions: ld"
_STORE = "Data Movement and Conversion Instructions: st"


def _load(hint: str) -> Instruction:
    """Return the load of neighbouring elements into registers with a cache hint."""
    return Instruction(
        f"load_{hint}",
        (Operand("dst", "local", Access.WRITE), Operand("src", "global", Access.READ)),
        ptx=f"ld.global.{hint}",
        section=_LOAD,
        arch=50,
    )


def _store(hint: str) -> Instruction:
    """Return the store of neighbouring elements from registers with a cache hint."""
    return Instruction(
        f"store_{hint}",
        (Operand("dst", "global", Access.WRITE), Operand("src", "local", Access.READ)),
        ptx=f"st.global.{hint}",
        section=_STORE,
        arch=50,
    )


LOADS: dict[str, Instruction] = {hint: _load(hint) for hint in ("ca", "cg", "cs", "lu", "cv", "nc")}
"""Loads by hint: at all levels, in L2, to be read once, for the last time, anew; never written."""

STORES: dict[str, Instruction] = {hint: _store(hint) for hint in ("wb", "cg", "cs", "wt")}
"""Stores by hint: at all levels, in L2, not to be read soon, through to memory."""

ATOMIC_PAIRS: dict[str, Instruction] = {
    space: Instruction(
        "atomic_add_pair",
        (Operand("a", space, Access.UPDATE, bytes=4),),
        ptx=f"red.{space}.add.noftz.f16x2, .bf16x2",
        section="Parallel Synchronization and Communication Instructions: red",
        arch=70,
    )
    for space in ("shared", "global")
}
"""Additions to two neighbouring elements of 16 bits, by the memory in which these lie."""

SCOPES = ("cta", "gpu", "sys")
"""With whom an ordered access is in order: the block, the GPU, all of the machine."""


def _ordered(kind: str, order: str, scope: str) -> Instruction:
    """Return an access to one element that is in order with others around it."""
    access, section = (Access.READ, _LOAD) if kind == "ld" else (Access.WRITE, _STORE)
    return Instruction(
        f"{'load' if kind == 'ld' else 'store'}_{order}_{scope}",
        (Operand("p", "global", access),),
        ptx=f"{kind}.{order}.{scope}",
        section=f"{section}; Memory Consistency Model",
        arch=70,
        orders=True,
    )


ORDERED_LOADS: dict[tuple[str, str], Instruction] = {
    (order, scope): _ordered("ld", order, scope)
    for order in ("acquire", "relaxed")
    for scope in SCOPES
}
"""Loads by order and scope: what comes after an acquire load stays after it."""

ORDERED_STORES: dict[tuple[str, str], Instruction] = {
    (order, scope): _ordered("st", order, scope)
    for order in ("release", "relaxed")
    for scope in SCOPES
}
"""Stores by order and scope: what comes before a release store stays before it."""
