"""Passes on the graph dialect: `decompose-graph`, `hoist-constants`, `lower-graph-to-compute`."""
