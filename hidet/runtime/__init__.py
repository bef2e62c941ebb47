"""The runtime: plans, executors, weights.

Nothing here imports xDSL, so that a cached program is loaded and run without the compiler.
"""

from hidet.absent import explain_missing

explain_missing(__name__)
