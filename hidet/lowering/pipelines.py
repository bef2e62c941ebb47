"""The pipelines: which passes run in which order, and why."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from hidet.collector_pause import collector_paused
from hidet.lowering.blame import blame
from hidet.pass_options import PassOptions

GRAPH = (
    "raise-attention",  # before anything else sees its parts
    "decompose-graph",  # composite operators into few, so that the passes below know less
    "write-in-place",  # before what it reads is a view of a view, and what it writes a whole
    "hoist-constants",  # before anything is fused with what changes at every call
    "lower-graph-to-compute",  # everything but matrix products becomes grids
)

COMPUTE = (
    "inline-views",  # after lowering: a reshape or a slice costs nothing where it is read
    "order-dimensions",  # where every load says what it reads, and before anything is stored
    "split-products",  # before anything is fused with their elements, which are sums then
    "fuse",  # sees through views, so it knows what reads what
    "fuse-into-kernels",  # takes what no template of ours has use for, as whole fusions
)

TASK = (
    "schedule",  # each fusion a kernel, written against views
    "map-tensor-cores",  # while what feeds a product is in sight as copies of tiles
    "map-copies",  # tiles have their layouts
    "prefetch-operands",  # while an epilogue is one copy, whose map is that of its operands
    "stage-epilogue",  # what stores results is then a part of what the warps share
    "specialize-warps",  # where all tiles of a product can come by TMA
    "multicast-copies",  # of what the producers of a cluster fetch
    "pipeline-copies",  # knows which copies move vectors
    "inline-compute",  # views vanish before barriers: what a copy reads is then in sight
    "fold-casts",  # all bodies have met by now: a value need not be rounded in between
    "insert-barriers",  # while task ops are still collective, one after the other
    "lower-task",  # to one thread
)

CUDA = (
    "simplify-index",  # linear forms make strides visible
    "early-cse",  # views inlined twice load twice
    "interchange-loops",  # what is the same for neighbours stands outside of their loop by now
    "vectorize",  # needs strides; leaves index arithmetic of its own
    "flatten-memrefs",  # after vectorize, which wants the last dimension
    "plan-shared-memory",  # after vectorize, which aligns shared arrays
    "simplify-index",  # the linear addresses of flattened memrefs
    "demote-scf-values",  # results of branches and loops become variables
    "early-cse",
    "infer-readonly",  # all stores are final
    "integer-ranges",  # all arithmetic is final
    "index-width",  # all index arithmetic is final
    "restore-exits",  # only the printer knows `break` and `return`
    "form-expressions",  # last: whatever moves an op after it breaks what it has decided
)

SCRIPT = (
    "map-tensor-cores",
    "map-copies",  # of tiles, where the script leaves it open
    "inline-compute",  # windows of tensors behind pointers are views, too
    "insert-barriers",  # around block-level verbs; other scripts have theirs written down
    "lower-task",
)

HOST = (
    "plan-memory",  # launches are final
    "pass-tensor-maps",  # maps are made of buffers, which have their places now
    "overlap-launches",  # no kernel changes any more
)

PIPELINES: dict[str, tuple[str, ...]] = {
    "graph-pipeline": GRAPH,
    "compute-pipeline": COMPUTE,
    "task-pipeline": TASK,
    "cuda-pipeline": CUDA,
    "kernels-pipeline": (*TASK, *CUDA, *HOST),
    "script-to-cuda": SCRIPT,
    "script-pipeline": (*SCRIPT, *CUDA),
    "hidet-pipeline": (*GRAPH, *COMPUTE, *TASK, *CUDA, *HOST),
}
"""The passes of each pipeline by name, in order."""

OWNERS_AHEAD_OF = "lower-task"
"""Where the strict mode checks who accesses register tiles: they are gone afterwards."""

ACCESSES_AHEAD_OF = "flatten-memrefs"
"""Where it checks accesses: afterwards there is one extent; vectors are made before."""

LEVEL_AFTER = {
    "lower-graph-to-compute": "compute",
    "fuse-into-kernels": "compute",
    "schedule": "task",
    "insert-barriers": "task",
    "lower-task": "cuda",
    "form-expressions": "cuda",
    "overlap-launches": "cuda",
}
"""The level that `verify-level` can check after a pass."""


def passes_of(pipeline: str, options: PassOptions) -> Iterator[ModulePass]:
    """Give the passes of a pipeline, with those that check the program or its kernels."""
    from hidet.universe import PASSES, load

    for name in PIPELINES[pipeline]:
        if options.strict and name in (OWNERS_AHEAD_OF, ACCESSES_AHEAD_OF):
            yield load(PASSES["instrument-memory"])(owners=name == OWNERS_AHEAD_OF)
        pass_class = load(PASSES[name])
        taken = {entry.name for entry in fields(pass_class)} & set(asdict(options))
        yield pass_class(**{name: getattr(options, name) for name in taken})
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
        """Run the pipeline of this pass's name."""
        run_pipeline(op, ctx, self, pipeline=self.name)


def _pass(name: str, summary: str) -> type[_Pipeline]:
    """Return the pass that runs a pipeline."""
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
ScriptToCuda = _pass(
    "script-to-cuda",
    "From kernels of scripts to what one thread does: `lower-task` and what prepares it.",
)
ScriptPipeline = _pass("script-pipeline", "From kernels of scripts to what the printer takes.")
HidetPipeline = _pass(
    "hidet-pipeline", "From the graph dialect to what the printer and the runtime take: all passes."
)
