"""What is known of GPU architectures: limits, instructions, and the fragments of tensor cores."""
