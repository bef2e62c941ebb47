"""GPU architectures: limits, instructions, and the fragments of tensor cores."""
