"""Passes on the graph dialect: `raise-attention`, `decompose-graph`, `hoist-constants`, ..."""
