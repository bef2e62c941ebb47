"""A worker that measures candidates on a device: `python -m hidet.tuning.measuring`.

It is a separate process, since a faulty kernel may corrupt the context of its device. Requests are
self-contained, so that the death of a worker affects one candidate only.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import torch

from hidet.runtime.cpu import CpuExecutor
from hidet.runtime.executor import Executor
from hidet.runtime.plan import Argument, Launch, Plan, TensorMap
from hidet.runtime.specs import Scalar, TensorSpec
from hidet.runtime.tensors import DTYPES, random_tensor
from hidet.tuning.workers import Message, serve

LAUNCHES = 20
"""The maximal number of launches in a measured CUDA Graph."""

SAMPLE_SECONDS = 0.03
"""The approximate maximal time of a measurement."""

SAMPLES = 5
"""The number of measurements over which the time of a candidate is the median."""

PAUSE_SECONDS = 0.005
"""How long a GPU waits before measurements, and at most between them: idle ones lower their clock,
and so do those at their power limit after longer work, by more than candidates differ."""

CLOCK = 1.8e9
"""The approximate clock of a GPU in Hz."""

LONG_SECONDS = 1.0
"""A launch that takes longer is measured once."""

COLD_CACHES = 2
"""The size of all copies of the weights as a multiple of the L2 cache, so that launches miss it."""

ROUNDINGS = 8
"""The tolerance in units of the result type's epsilon, relative to the size of the results."""

SUM_ROUNDINGS = 4
"""The tolerance in units of the epsilon of the sums, which are float32 or wider, per square root of
their length: rounding errors accumulate like a random walk."""

DIFFERENT_STEPS = 1e-3
"""The fraction of integers that may differ: a comparison or a rounding in the epilogue amplifies
the smallest difference of sums."""

PART = 1 << 24
"""The number of elements to compare at a time, to limit memory."""


class Candidate:
    """A plan with its binaries."""

    def __init__(self, message: Mapping[str, Any]) -> None:
        self.text: str = message["plan"]
        self.plan = Plan.from_json(self.text)
        self.artifacts = {key: b64decode(data) for key, data in message["artifacts"].items()}

    def executor(self, device: torch.device, runs: int, copies: int) -> Executor:
        """Return an executor of `runs` consecutive runs."""
        plan = chained(self.plan, runs, copies)
        if device.type == "cpu":
            return CpuExecutor(plan, self.artifacts)
        from hidet.runtime.cuda_graph import CudaGraphExecutor

        return CudaGraphExecutor(plan, self.artifacts, device)


@dataclass(frozen=True)
class _Chain:
    """A call that launches a candidate some times, and the approximate seconds that it takes."""

    run: Callable[[], object]
    launches: int
    seconds: float


class Data:
    """Random tensors for the candidates of one problem, of which one has this plan.

    The request has the `seed`, and the `l2_bytes` that weights have to exceed, or 0.
    """

    def __init__(self, plan: Plan, request: Message, device: torch.device) -> None:
        generator = torch.Generator(device)
        generator.manual_seed(request["seed"])
        self.device = device
        size = sum(spec.nbytes for spec in plan.constants.values())
        wanted = COLD_CACHES * request["l2_bytes"]
        self.copies = min(LAUNCHES, -(-wanted // size)) if size and wanted else 1
        self.inputs = [random_tensor(spec, device, generator) for spec in plan.inputs]
        weights = [random_tensor(spec, device, generator) for spec in plan.constants.values()]
        self.weights = [w if n == 0 else w.clone() for n in range(self.copies) for w in weights]


class Bench:
    """Measures candidates; caches the data of the last problem."""

    _data: Data

    def __init__(self) -> None:
        self._problem: object = None
        self._results: dict[str, list[torch.Tensor]] = {}

    def answer(self, request: Message) -> Message:
        """Measure candidates, or compare one with others.

        A request has `device`, `seed`, `l2_bytes`, `length` (of the sums), and `candidates`. With
        `against`, other candidates, the only candidate is compared with them. The reply has the
        `microseconds` of each candidate; with `against` also `results`, the number of the first one
        that it agrees with, or their count, and `apart`, its distance to the nearest.

        Raises:
            HidetError: a kernel could not be loaded or launched.
        """
        device = torch.device(request["device"])
        if device.type == "cuda":
            device = torch.device("cuda", device.index or 0)
        candidates = [Candidate(each) for each in request["candidates"]]
        plan = candidates[0].plan
        specs = (plan.inputs, plan.outputs, plan.constants)
        problem = (*specs, request["seed"], request["l2_bytes"], device)
        if self._problem != problem:
            self._results.clear()
            self._data, self._problem = Data(plan, request, device), problem
        reply: dict[str, Any] = {}
        if "against" in request:
            others = [self.results(Candidate(each)) for each in request["against"]]
            own = self._run(candidates[0])
            apart = [difference(own, other, request["length"]) for other in others]
            agreed = [number for number, far in enumerate(apart) if far <= 1]
            reply["results"] = agreed[0] if agreed else len(others)
            reply["apart"] = min(apart, default=0.0)
        return {**reply, "microseconds": self._times(candidates)}

    def results(self, candidate: Candidate) -> list[torch.Tensor]:
        """Return the results of a candidate, which are cached."""
        if candidate.text not in self._results:
            self._results[candidate.text] = self._run(candidate)
        return self._results[candidate.text]

    def _run(self, candidate: Candidate) -> list[torch.Tensor]:
        """Run a candidate once, on poisoned outputs."""
        data = self._data
        results = [_poisoned(spec, data.device) for spec in candidate.plan.outputs]
        executor = candidate.executor(data.device, 1, 1)
        executor.run([*data.inputs, *results], data.weights[: len(candidate.plan.constants)])
        if data.device.type == "cuda":
            torch.cuda.synchronize(data.device)
        return results

    def _times(self, candidates: Sequence[Candidate]) -> list[float]:
        """Return the median microseconds of a launch of each candidate, measured interleaved."""
        chains = [self._chain(each) for each in candidates]
        samples = 1 if max(each.seconds for each in chains) > LONG_SECONDS else SAMPLES
        seconds = _seconds(chains * samples, self._data.device, PAUSE_SECONDS)
        count = len(chains)
        times = [median(seconds[at::count]) / chains[at].launches for at in range(count)]
        return [each * 1e6 for each in times]

    def _chain(self, candidate: Candidate) -> _Chain:
        """Return launches of a candidate that take `SAMPLE_SECONDS` at most, if they can."""
        data = self._data
        results = [_poisoned(spec, data.device) for spec in candidate.plan.outputs]
        arguments = [*data.inputs, *results]

        def chain(launches: int, seconds: float = 0.0) -> _Chain:
            copies = min(data.copies, launches)
            weights = data.weights[: copies * len(candidate.plan.constants)]
            executor = candidate.executor(data.device, launches, copies)
            executor.run(arguments, weights)
            return _Chain(lambda: executor.run(arguments, weights), launches, seconds)

        (seconds,) = _seconds([chain(1)], data.device)
        launches = max(1, min(LAUNCHES, int(SAMPLE_SECONDS / max(seconds, 1e-7))))
        return chain(launches, seconds * launches)


def _poisoned(spec: TensorSpec, device: torch.device) -> torch.Tensor:
    """Return a tensor filled with NaN, or the largest integer."""
    kind = DTYPES[spec.dtype]
    if kind == torch.bool:
        return torch.ones(spec.shape, dtype=kind, device=device)
    poison = float("nan") if kind.is_floating_point else torch.iinfo(kind).max
    return torch.full(spec.shape, poison, dtype=kind, device=device)


def _seconds(chains: Sequence[_Chain], device: torch.device, pause: float = 0.0) -> list[float]:
    """Return the times of consecutive calls: by events on a GPU, else by a clock.

    A GPU waits for the seconds of `pause`, at full clock, while the host prepares the calls; it
    rests between them.
    """
    if device.type == "cpu":
        clock = [perf_counter()]
        for each in chains:
            each.run()
            clock.append(perf_counter())
        return [end - begin for begin, end in pairwise(clock)]
    events: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
    for number, chain in enumerate(chains):
        rest = min(pause, chain.seconds) if number else pause
        torch.cuda._sleep(int(rest * CLOCK))  # pyright: ignore[reportPrivateUsage]
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        chain.run()
        end.record()
        events.append((begin, end))
    torch.cuda.synchronize(device)
    return [begin.elapsed_time(end) / 1e3 for begin, end in events]


def chained(plan: Plan, runs: int, copies: int) -> Plan:
    """Return a plan that repeats the launches of `plan` sequentially.

    The plan has no prepared weights and no copied outputs. The inputs are its inputs, then its
    outputs, so that the caller can poison them. There are `copies` of each weight, which the runs
    use in turn.
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
        f"{name}.{copy}": spec for copy in range(copies) for name, spec in plan.constants.items()
    }
    return replace(
        plan,
        inputs=(*plan.inputs, *plan.outputs),
        outputs=(),
        constants=weights,
        forward=tuple(launches),
    )


def _passed(
    value: Argument | Scalar | TensorMap, plan: Plan, copy: int
) -> Argument | Scalar | TensorMap:
    """Return the argument of the chain for one of the plan."""
    match value:
        case Argument("output", at):
            return Argument("input", len(plan.inputs) + int(at))
        case Argument("constant", name):
            return Argument("constant", f"{name}.{copy}")
        case TensorMap(buffer):
            moved = _passed(buffer, plan, copy)
            assert isinstance(moved, Argument)
            return replace(value, buffer=moved)
        case _:
            return value


def difference(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor], length: int) -> float:
    """Return the distance of the results of two candidates relative to the tolerance.

    They agree if it is at most 1. NaN equals NaN, and infinities have to be equal. `length` is the
    extent of the contracted dimension.
    """
    return max((_difference(a, b, length) for a, b in zip(one, other, strict=True)), default=0.0)


def _difference(a: torch.Tensor, b: torch.Tensor, length: int) -> float:
    if a.numel() == 0:
        return 0.0
    if not a.dtype.is_floating_point:
        return float((a != b).float().mean()) / DIFFERENT_STEPS
    rounding = torch.finfo(a.dtype).eps
    wide = torch.promote_types(a.dtype, torch.float32)
    pairs = zip(torch.split(a.flatten(), PART), torch.split(b.flatten(), PART), strict=True)
    parts = list(pairs)
    squares = sum(float(y[y.isfinite()].to(wide).square().sum()) for _, y in parts)
    size = (squares / b.numel()) ** 0.5
    sums = SUM_ROUNDINGS * torch.finfo(wide).eps * max(length, 1) ** 0.5
    relative = ROUNDINGS * rounding + sums
    return max(_part_difference(x.to(wide), y.to(wide), relative, size) for x, y in parts)


def _part_difference(a: torch.Tensor, b: torch.Tensor, relative: float, size: float) -> float:
    """Return the distance of parts of results, whose root mean square is `size`."""
    finite = a.isfinite() & b.isfinite()
    same = (a == b) | (a.isnan() & b.isnan())
    if not bool((finite | same).all()):
        return float("inf")
    a, b = torch.where(finite, a, 0), torch.where(finite, b, 0)
    allowed = relative * (b.abs() + size) + torch.finfo(b.dtype).tiny
    return float(((a - b).abs() / allowed).max())


if __name__ == "__main__":
    serve(Bench().answer)
