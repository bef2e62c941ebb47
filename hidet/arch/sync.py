"""The instruction table of barriers with a vote, of fences, and of waiting by time."""

from __future__ import annotations

from hidet.arch.instructions import Instruction

_SECTION = "Parallel Synchronization and Communication Instructions"

BLOCK_VOTES: dict[str, Instruction] = {
    kind: Instruction(
        f"sync_threads_{kind}",
        (),
        ptx=f"barrier.cta.red.{ptx}.aligned",
        section=f"{_SECTION}: bar, barrier",
        arch=50,
        orders=True,
    )
    for kind, ptx in (("and", "and.pred"), ("or", "or.pred"), ("count", "popc.u32"))
}
"""Barriers of a block that give what its threads say together, by what they are asked."""

EFFECTS: dict[str, Instruction] = {
    name: Instruction(name, (), ptx=ptx, section=section, arch=arch, orders=True)
    for name, ptx, section, arch in (
        ("fence_cta", "fence.acq_rel.cta", f"{_SECTION}: membar/fence", 50),
        ("fence_gpu", "fence.acq_rel.gpu", f"{_SECTION}: membar/fence", 50),
        ("fence_sys", "fence.acq_rel.sys", f"{_SECTION}: membar/fence", 50),
        ("nanosleep", "nanosleep.u32", "Miscellaneous Instructions: nanosleep", 70),
    )
}
"""What a thread does by itself that is neither arithmetic nor an access, by name."""

EFFECT_OPERANDS: dict[str, int] = {"nanosleep": 1}
"""How many numbers of 32 bits an effect takes, where it takes any."""
