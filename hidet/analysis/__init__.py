"""Analyses: queries about a program that do not change it.

`forms` and `algebra` implement symbolic index arithmetic, `index_forms` computes the linear forms
of the values of a program, `materialize` emits ops for forms, `inverse` inverts index maps, and
`memory` returns the memory accesses of an op.
"""
