"""How each operator becomes grids of the compute dialect, one table of rules a family."""
