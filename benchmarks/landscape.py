"""The landscape of one matmul: all configs measured, as JSON and as a picture.

    python benchmarks/landscape.py 4096 4096 4096 [--dtype f16] --json l.json --svg l.svg
    python benchmarks/landscape.py --from l.json --svg l.svg

The picture (`landscape_picture.py`) shows each config at its place in the cost model's order, and
how long it took, next to the roofline; and which candidates the search of space 2 would measure.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from landscape_picture import picture
from products import fresh_tuner, fusions, program

from hidet.lowering.templates.legality import Rejected
from hidet.tuning.problem import Problem, Setting, open_fusions
from hidet.tuning.search import Search, Timed


def measure(m: int, n: int, k: int, dtype: str, cold: bool) -> dict[str, Any]:
    """Measure all configs of a product; return what JSON can hold."""
    with fresh_tuner(1, cold=cold) as (tuner, arch):
        ((fusion, template),) = open_fusions(fusions(program([(m, n, k)], dtype), arch), arch)
        problem = Problem(fusion, template, Setting(arch, "", cold))
        everything = Search(problem, problem.configs, descends=False)
        tuner.search([everything])
    return {
        "title": problem.title,
        "arch": str(arch),
        "roofline": problem.work.floor(arch),
        "configs": [
            {"rank": rank, **_entry(everything, rank)} for rank in range(len(problem.configs))
        ],
        "steps": _replay(problem, everything),
        "impossible": len(problem.rejected),
    }


def _entry(search: Search, rank: int) -> dict[str, Any]:
    """Return what was found of a config: its choices, and its time or why there is none."""
    config = search.problem.configs[rank]
    outcome = search.outcome(config)
    odd = {each.config: each.reason for each in search.rejected()}
    found = {"config": asdict(config)}
    if isinstance(outcome, Timed) and config not in odd:
        return found | {"microseconds": outcome.microseconds}
    return found | {"reason": odd[config]}


def _replay(problem: Problem, everything: Search) -> list[list[int]]:
    """Return the ranks of the candidates of space 2, round by round, if it saw these times."""
    rank = {config: number for number, config in enumerate(problem.configs)}
    search, rounds = Search.of(problem, 2), list[list[int]]()
    while wanted := search.next_round():
        rounds.append([rank[config] for config in wanted])
        for config in wanted:
            outcome = everything.outcome(config)
            search.add(outcome or Rejected(config, "not measured"))
    return rounds


def main() -> None:
    """Measure, or read what was measured; write what is wanted."""
    parser = argparse.ArgumentParser(description="Measure all configs of one product.")
    parser.add_argument("sizes", nargs="*", type=int, help="m n k")
    parser.add_argument("--dtype", default="f16", help="the type of the factors")
    parser.add_argument("--cold", action="store_true", help="read weights from memory")
    parser.add_argument("--from", dest="source", type=Path, help="what was measured before")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--svg", type=Path, help="where to write the picture")
    arguments = parser.parse_args()
    if (arguments.source is None) == (len(arguments.sizes) != 3):
        parser.error("either m, n and k or --from")
    if arguments.source is not None:
        found = json.loads(arguments.source.read_text())
    else:
        m, n, k = arguments.sizes
        found = measure(m, n, k, arguments.dtype, arguments.cold)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    if arguments.svg is not None:
        arguments.svg.write_text(picture(found))
    timed = [each for each in found["configs"] if "microseconds" in each]
    if not timed:
        raise SystemExit(f"no config could be measured: {found['configs'][0]}")
    best = min(timed, key=lambda each: each["microseconds"])
    print(f"{found['title']} on {found['arch']}: {len(timed)} configs, best {best}")


if __name__ == "__main__":
    main()
