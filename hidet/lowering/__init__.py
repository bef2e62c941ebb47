"""The passes, one file each, grouped by the dialect that they work on."""
