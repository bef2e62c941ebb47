"""What must hold between two passes: one module for each check of the pass `verify-level`.

A check takes a module or a kernel, changes nothing, and raises the error that `illegal` makes of
the op that breaks its rule. All checks are linear in the size of the program.
"""
