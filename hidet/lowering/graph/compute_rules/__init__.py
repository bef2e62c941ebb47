"""The lowering rules of operators to grids, one table per family."""
