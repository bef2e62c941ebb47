"""A plan that runs another one many times, one run after the other, in memory of the caller."""

from dataclasses import replace

from hidet.runtime.plan import Argument, Launch, Plan, TensorMap
from hidet.runtime.specs import Scalar


def chained(plan: Plan, runs: int, copies: int) -> Plan:
    """Return the plan that runs the launches of `plan` so many times, each after all before.

    Its inputs are those of `plan`, then the outputs, which the caller gives too: they can be
    poisoned. Each weight is there `copies` times, and the runs take turns with them.

    Args:
        plan: a plan without weights to prepare and without outputs that are only copied.
        runs: how many times.
        copies: how many copies of the weights there are.
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
    """Return what a copy of a weight is called."""
    return f"{name}.{copy}"


def _passed(
    value: Argument | Scalar | TensorMap, plan: Plan, copy: int
) -> Argument | Scalar | TensorMap:
    """Return what a launch of the chain passes for what one of the plan does."""
    match value:
        case Argument():
            return _moved(value, plan, copy)
        case TensorMap():
            return replace(value, buffer=_moved(value.buffer, plan, copy))
        case Scalar():
            return value


def _moved(argument: Argument, plan: Plan, copy: int) -> Argument:
    """Return where a buffer of the plan lies in the chain."""
    match argument.space:
        case "output":
            return Argument("input", len(plan.inputs) + int(argument.at))
        case "constant":
            return Argument("constant", weight_name(str(argument.at), copy))
        case _:
            return argument
