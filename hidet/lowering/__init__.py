"""The passes, one per file, grouped by the dialect that they work on."""
