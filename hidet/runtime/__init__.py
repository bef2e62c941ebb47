"""What runs a compiled program: its plan, its executors, its weights.

Nothing here imports xDSL but `extract`, which reads a plan off the lowered program: a program that
comes out of the cache is loaded and run without the compiler.
"""

from hidet.absent import explain_missing

explain_missing(__name__)
