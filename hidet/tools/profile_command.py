"""`hidet profile`: what each launch of a saved graph takes, as a table and as a page."""

import argparse
from pathlib import Path
from typing import Any


def add_command(commands: Any) -> None:
    """Add the command to those of `hidet`."""
    profile = commands.add_parser("profile", help="what each launch of a saved graph takes")
    profile.add_argument("file", type=Path, help="the saved graph, with binaries")
    profile.add_argument("--html", type=Path, metavar="PAGE", help="write a page with a timeline")
    profile.add_argument("--runs", type=int, default=20, help="times are medians of; default: 20")
    profile.add_argument("--trusted", action="store_true", help="run binaries of others, too")
    profile.set_defaults(action=_profile)


def _profile(arguments: argparse.Namespace) -> None:
    """Measure a saved graph on random inputs, and show what was measured."""
    import hidet

    graph = hidet.load_compiled(arguments.file, trusted=arguments.trusted)
    profile = graph.profile(runs=arguments.runs)
    print(profile)
    if arguments.html is not None:
        profile.save(arguments.html, arguments.file.name)
