"""Kernels of operators, in hidet script."""
