"""The pass pipelines, with the reason for each position."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.loading import collector_paused
from hidet.lowering.blame import blame
from hidet.pass_options import PassOptions

GRAPH = (
    "raise-attention",  # before its parts are decomposed
    "group-heads",  # raised attention too
    "merge-taps",  # before convolutions of few channels are padded to four
    "decompose-graph",  # to a small set of operators for the passes below
    "write-in-place",  # while slices and concatenations are still operators
    "share-outputs",  # while views are still operators
    "hoist-constants",  # before fusion with values that change in every call
    "lower-graph-to-compute",  # everything but anchors becomes grids
)

COMPUTE = (
    "inline-views",  # makes reshapes and slices free
    "sink-casts",  # before grids are chosen that are stored
    "order-contractions",  # after views are resolved
    "order-dimensions",  # after views are resolved, before anything is stored
    "split-products",  # before fusion, as it turns elements into sums
    "fuse",  # decides kernels, through views
    "fuse-horizontally",  # makes one kernel of several of `fuse`
    "fuse-into-kernels",  # takes whole fusions of `fuse`
    "update-in-place",  # fusions are final
)

SCHEDULE = (
    "schedule",  # kernels are written against views
    "mark-constants",  # the last pass on the whole program before kernels are lowered one by one
)

TASK = (
    "map-tensor-cores",  # while operands are still tile copies
    "map-copies",  # uses tile layouts
    "prefetch-operands",  # while an epilogue is one copy with the accumulator's map
    "stage-epilogue",  # before warps are split into roles
    "specialize-warps",  # if TMA can load all tiles
    "multicast-copies",  # shares the producers' loads in a cluster
    "pipeline-copies",  # for the remaining loops; uses the maps of copies
    "inline-compute",  # exposes memory accesses to `insert-barriers`
    "fold-casts",  # after bodies are inlined
    "insert-barriers",  # while task ops are still collective
    "lower-task",  # per-thread code
)

CUDA = (
    "simplify-index",  # exposes strides
    "interchange-loops",  # after loop-invariant code is hoisted
    "vectorize",  # needs strides; leaves dead index arithmetic
    "flatten-memrefs",  # after vectorize, which needs the last dimension
    "vectorize",  # what is adjacent across rows, as linear addresses show
    "plan-shared-memory",  # after vectorize, which aligns shared arrays
    "simplify-index",  # the linear addresses
    "demote-scf-values",  # SSA results become variables
    "early-cse",
    "infer-readonly",  # stores are final
    "integer-ranges",  # arithmetic is final
    "index-width",  # index arithmetic is final
    "restore-exits",  # later passes would miss the guards
    "strength-reduce",  # index arithmetic and its widths are final
    "form-expressions",  # last: later changes would invalidate its decisions
)

ENTRY = (
    "hoist-tensor-maps",  # all tensor maps are there
    "insert-waits",  # memory accesses are final; tensor maps are arguments
)

SCRIPT = (
    "map-tensor-cores",
    "map-copies",  # where the script leaves the map open
    "inline-compute",  # windows of tensors are views
    "insert-barriers",  # for block-level verbs; other barriers are explicit
    "lower-task",
)

HOST = (
    "plan-memory",  # launches are final
    "pass-tensor-maps",  # needs the buffers
    "overlap-launches",  # launches are final
)

LOWERING = (*TASK, *CUDA, *ENTRY)
"""The passes that see one kernel at a time, so that worker processes can run them. `HOST` does not
see the bodies of kernels."""

PIPELINES: dict[str, tuple[str, ...]] = {
    "graph-pipeline": GRAPH,
    "compute-pipeline": COMPUTE,
    "task-pipeline": (*SCHEDULE, *TASK),
    "cuda-pipeline": CUDA,
    "kernels-pipeline": (*SCHEDULE, *LOWERING, *HOST),
    "schedule-pipeline": (*GRAPH, *COMPUTE, *SCHEDULE),
    "lowering-pipeline": LOWERING,
    "host-pipeline": HOST,
    "script-to-cuda": SCRIPT,
    "script-pipeline": (*SCRIPT, *CUDA),
    "hidet-pipeline": (*GRAPH, *COMPUTE, *SCHEDULE, *LOWERING, *HOST),
}
"""The passes of each pipeline by name, in order."""

OWNERS_AHEAD_OF = "lower-task"
"""The strict mode checks ownership of register tiles before this pass, which lowers them."""

ACCESSES_AHEAD_OF = "flatten-memrefs"
"""The strict mode checks accesses before this pass, which drops extents, and after `vectorize`."""

LEVEL_AFTER = {
    "lower-graph-to-compute": "compute",
    "update-in-place": "compute",
    "schedule": "task",
    "insert-barriers": "task",
    "lower-task": "cuda",
    "form-expressions": "cuda",
    "overlap-launches": "cuda",
}
"""The level that `verify-level` can check after a pass."""


def passes_of(pipeline: str, options: PassOptions) -> Iterator[ModulePass]:
    """Yield the passes of a pipeline, with those that verify or instrument the program."""
    from hidet.universe import PASSES, load

    given = asdict(options)
    for name in PIPELINES[pipeline]:
        if options.strict and name in (OWNERS_AHEAD_OF, ACCESSES_AHEAD_OF):
            yield load(PASSES["instrument-memory"])(owners=name == OWNERS_AHEAD_OF)
        pass_class = load(PASSES[name])
        taken = {entry.name for entry in fields(pass_class)} & given.keys()
        yield pass_class(**{name: given[name] for name in taken})
        if options.verify and name in LEVEL_AFTER:
            yield load(PASSES["verify-level"])(level=LEVEL_AFTER[name], after=name)


def run_pipeline(
    module: ModuleOp,
    context: Context,
    options: PassOptions,
    *,
    pipeline: str = "hidet-pipeline",
) -> None:
    """Run a pipeline on a module, in place."""
    with collector_paused():
        for each in passes_of(pipeline, options):
            with blame(each):
                each.apply(context, module)


@dataclass(frozen=True)
class _Pipeline(PassOptions, ModulePass):
    """Runs the passes of one pipeline."""

    name = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pipeline named as this pass."""
        run_pipeline(op, ctx, self, pipeline=self.name)


def _pass(name: str, summary: str) -> type[_Pipeline]:
    title = "".join(word.capitalize() for word in name.split("-"))
    return type(title, (_Pipeline,), {"__doc__": summary, "__module__": __name__, "name": name})


GraphPipeline = _pass(
    "graph-pipeline",
    "From the graph dialect to grids: `lower-graph-to-compute` and what prepares it.",
)
ComputePipeline = _pass(
    "compute-pipeline", "From grids to fusions: `fuse` and what goes around it."
)
TaskPipeline = _pass(
    "task-pipeline", "From fusions to kernels of one thread: `schedule` to `lower-task`."
)
CudaPipeline = _pass("cuda-pipeline", "From kernels of one thread to what the printer prints.")
KernelsPipeline = _pass(
    "kernels-pipeline", "From fusions to what the printer and the runtime take."
)
SchedulePipeline = _pass(
    "schedule-pipeline", "From the graph dialect to kernels on views: the passes on whole programs."
)
LoweringPipeline = _pass(
    "lowering-pipeline", "From kernels on views to what the printer takes: one kernel at a time."
)
HostPipeline = _pass(
    "host-pipeline", "From launches on tensors to what the runtime takes: the passes on launches."
)
ScriptToCuda = _pass(
    "script-to-cuda",
    "From kernels of scripts to what one thread does: `lower-task` and what prepares it.",
)
ScriptPipeline = _pass("script-pipeline", "From kernels of scripts to what the printer takes.")
HidetPipeline = _pass(
    "hidet-pipeline", "From the graph dialect to what the printer and the runtime take: all passes."
)
