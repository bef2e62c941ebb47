"""Analyses: what passes ask about a program, without changing it.

`forms` and `algebra` are the arithmetic of indices by itself, `index_forms` finds the forms of the
values of a program, `materialize` turns forms back into ops, `inverse` inverts index maps, and
`memory` says which memory an op touches.
"""
