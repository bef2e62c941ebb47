"""Passes on the `graph` level: `raise-attention`, `decompose-graph`, `hoist-constants`, ..."""
