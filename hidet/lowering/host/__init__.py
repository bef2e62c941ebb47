"""Passes over host functions: the launches between the inputs and the outputs of a program."""
