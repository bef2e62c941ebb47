"""The command line tools: `hidet-opt`, which runs passes on text, and `hidet`."""
