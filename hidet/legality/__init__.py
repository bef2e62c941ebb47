"""Invariants between passes, one module per check of the pass `verify-level`.

A check takes a module or a kernel, changes nothing, and raises the error that `illegal` returns for
the op at fault. All checks are linear in program size.
"""
