"""Plans that repeat another plan, with outputs in memory of the caller."""

from dataclasses import replace

from hidet.runtime.plan import Argument, Launch, Plan, TensorMap
from hidet.runtime.specs import Scalar


def chained(plan: Plan, runs: int, copies: int) -> Plan:
    """Return a plan that repeats the launches of `plan` sequentially.

    Its inputs are the inputs of `plan`, then its outputs, so that the caller can poison them. There
    are `copies` of each weight, which the runs use in turn.

    Args:
        plan: a plan without prepared weights and without copied outputs.
        runs: the number of runs.
        copies: the number of copies of the weights.
    """
    size = len(plan.forward)
    launches: list[Launch] = []
    for run in range(runs):
        base = run * size
        before = tuple(range(base - size, base)) if run else ()
        for launch in plan.forward:
            own = tuple(base + number for number in launch.dependencies)
            arguments = tuple(_passed(each, plan, run % copies) for each in launch.arguments)
            launches.append(replace(launch, arguments=arguments, dependencies=own or before))
    weights = {
        weight_name(name, copy): spec
        for copy in range(copies)
        for name, spec in plan.constants.items()
    }
    return replace(
        plan,
        inputs=(*plan.inputs, *plan.outputs),
        outputs=(),
        constants=weights,
        forward=tuple(launches),
    )


def weight_name(name: str, copy: int) -> str:
    """Return the name of a copy of a weight."""
    return f"{name}.{copy}"


def _passed(
    value: Argument | Scalar | TensorMap, plan: Plan, copy: int
) -> Argument | Scalar | TensorMap:
    """Return the argument of the chain for one of the plan."""
    match value:
        case Argument():
            return _moved(value, plan, copy)
        case TensorMap():
            return replace(value, buffer=_moved(value.buffer, plan, copy))
        case Scalar():
            return value


def _moved(argument: Argument, plan: Plan, copy: int) -> Argument:
    """Return the buffer of the chain for one of the plan."""
    match argument.space:
        case "output":
            return Argument("input", len(plan.inputs) + int(argument.at))
        case "constant":
            return Argument("constant", weight_name(str(argument.at), copy))
        case _:
            return argument
