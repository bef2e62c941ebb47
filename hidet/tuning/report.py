"""Formats the outcome of a search as a table."""

from collections import defaultdict
from dataclasses import fields

from hidet.lowering.templates.config import Config
from hidet.tuning.search import Search


def report(search: Search) -> str:
    """Return the candidates with their times, the reasons of rejections, and a line to paste."""
    problem, best = search.problem, search.best
    arch, floor = problem.setting.arch, problem.work.floor(problem.setting.arch)
    limit = "" if floor is None else f", roofline {floor:.1f} us"
    lines = [f"{problem.title} on {arch}{limit}", f"{'us':>10}  {'share':>5}  config"]
    lines += [
        f"{each.microseconds:>10.1f}  {problem.work.share(each.microseconds, arch):>5}  "
        f"{_choices(each.config)}"
        for each in search.ranking
    ]
    reasons: defaultdict[str, list[Config]] = defaultdict(list)
    for each in (*search.rejected(), *problem.rejected):
        reasons[each.reason].append(each.config)
    for reason, configs in reasons.items():
        what = _choices(configs[0])
        if len(configs) > 1:
            what = f"{len(configs)} configs, as {what}"
        lines.append(f"{'rejected':>17}  {what}: {reason}")
    if best is not None:
        lines.append(f"config {problem.attribute(best.config)}")
    return "\n".join(lines)


def _choices(config: Config) -> str:
    """Return the fields of a config that differ from their defaults."""
    choices = ((each, getattr(config, each.name)) for each in fields(config))
    return " ".join(f"{each.name}={value}" for each, value in choices if value != each.default)
