"""The registry: every dialect, pass and target of hidet, by name.

An entry is "module:Class", imported at its first use. xDSL's tools see the registry through the
entry point `xdsl.universe`; a new pass needs one line here and its test.
"""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from typing import Any

from xdsl.universe import Universe

from hidet.loading import loading

DIALECTS: dict[str, str] = {
    "graph": "hidet.dialects.graph:Graph",
    "compute": "hidet.dialects.compute:Compute",
    "task": "hidet.dialects.task:Task",
    "cuda": "hidet.dialects.cuda:Cuda",
}

PASSES: dict[str, str] = {
    "raise-attention": "hidet.lowering.graph.raise_attention:RaiseAttentionPass",
    "group-heads": "hidet.lowering.graph.group_heads:GroupHeadsPass",
    "merge-taps": "hidet.lowering.graph.merge_taps:MergeTapsPass",
    "decompose-graph": "hidet.lowering.graph.decompose_graph:DecomposeGraphPass",
    "write-in-place": "hidet.lowering.graph.write_in_place:WriteInPlacePass",
    "hoist-constants": "hidet.lowering.graph.hoist_constants:HoistConstantsPass",
    "lower-graph-to-compute": "hidet.lowering.graph.lower_graph_to_compute:LowerGraphToComputePass",
    "inline-views": "hidet.lowering.compute.inline_views:InlineViewsPass",
    "order-dimensions": "hidet.lowering.compute.order_dimensions:OrderDimensionsPass",
    "split-products": "hidet.lowering.compute.split_products:SplitProductsPass",
    "fuse": "hidet.lowering.compute.fuse:FusePass",
    "fuse-into-kernels": "hidet.lowering.compute.fuse_into_kernels:FuseIntoKernelsPass",
    "fold-casts": "hidet.lowering.compute.fold_casts:FoldCastsPass",
    "schedule": "hidet.lowering.task.schedule:SchedulePass",
    "map-tensor-cores": "hidet.lowering.task.map_tensor_cores:MapTensorCoresPass",
    "map-copies": "hidet.lowering.task.map_copies:MapCopiesPass",
    "pipeline-copies": "hidet.lowering.task.pipeline_copies:PipelineCopiesPass",
    "specialize-warps": "hidet.lowering.task.specialize_warps:SpecializeWarpsPass",
    "multicast-copies": "hidet.lowering.task.multicast_copies:MulticastCopiesPass",
    "prefetch-operands": "hidet.lowering.task.prefetch_operands:PrefetchOperandsPass",
    "stage-epilogue": "hidet.lowering.task.stage_epilogue:StageEpiloguePass",
    "inline-compute": "hidet.lowering.task.inline_compute:InlineComputePass",
    "insert-barriers": "hidet.lowering.task.insert_barriers:InsertBarriersPass",
    "lower-task": "hidet.lowering.task.lower_task:LowerTaskPass",
    "simplify-index": "hidet.lowering.cuda.simplify_index:SimplifyIndexPass",
    "early-cse": "hidet.lowering.cuda.early_cse:EarlyCsePass",
    "interchange-loops": "hidet.lowering.cuda.interchange_loops:InterchangeLoopsPass",
    "vectorize": "hidet.lowering.cuda.vectorize:VectorizePass",
    "instrument-memory": "hidet.lowering.cuda.instrument_memory:InstrumentMemoryPass",
    "flatten-memrefs": "hidet.lowering.cuda.flatten_memrefs:FlattenMemrefsPass",
    "plan-shared-memory": "hidet.lowering.cuda.plan_shared_memory:PlanSharedMemoryPass",
    "infer-readonly": "hidet.lowering.cuda.infer_readonly:InferReadonlyPass",
    "demote-scf-values": "hidet.lowering.cuda.demote_scf_values:DemoteScfValuesPass",
    "integer-ranges": "hidet.lowering.cuda.integer_ranges:IntegerRangesPass",
    "index-width": "hidet.lowering.cuda.index_width:IndexWidthPass",
    "restore-exits": "hidet.lowering.cuda.restore_exits:RestoreExitsPass",
    "form-expressions": "hidet.lowering.cuda.form_expressions:FormExpressionsPass",
    "hoist-tensor-maps": "hidet.lowering.cuda.hoist_tensor_maps:HoistTensorMapsPass",
    "insert-waits": "hidet.lowering.cuda.insert_waits:InsertWaitsPass",
    "mark-constants": "hidet.lowering.host.mark_constants:MarkConstantsPass",
    "plan-memory": "hidet.lowering.host.plan_memory:PlanMemoryPass",
    "pass-tensor-maps": "hidet.lowering.host.pass_tensor_maps:PassTensorMapsPass",
    "overlap-launches": "hidet.lowering.host.overlap_launches:OverlapLaunchesPass",
    "verify-level": "hidet.lowering.verify_level:VerifyLevelPass",
    "graph-pipeline": "hidet.lowering.pipelines:GraphPipeline",
    "compute-pipeline": "hidet.lowering.pipelines:ComputePipeline",
    "task-pipeline": "hidet.lowering.pipelines:TaskPipeline",
    "cuda-pipeline": "hidet.lowering.pipelines:CudaPipeline",
    "kernels-pipeline": "hidet.lowering.pipelines:KernelsPipeline",
    "schedule-pipeline": "hidet.lowering.pipelines:SchedulePipeline",
    "lowering-pipeline": "hidet.lowering.pipelines:LoweringPipeline",
    "host-pipeline": "hidet.lowering.pipelines:HostPipeline",
    "script-to-cuda": "hidet.lowering.pipelines:ScriptToCuda",
    "script-pipeline": "hidet.lowering.pipelines:ScriptPipeline",
    "hidet-pipeline": "hidet.lowering.pipelines:HidetPipeline",
}

TARGETS: dict[str, str] = {
    "cuda": "hidet.backend.printer:CudaTarget",
}

BUILD_SCRIPTS = "hidet.driver.script:build_ir_module"
"""The builder of script modules, in a layer above the frontend, which has the method `build`."""


def load(path: str) -> Any:
    """Import the object that "module:Class" names."""
    module_name, _, attribute = path.partition(":")
    with loading():
        return getattr(import_module(module_name), attribute)


def _factories(table: dict[str, str]) -> dict[str, Callable[[], Any]]:
    """Return the factories that xDSL expects of a universe."""
    return {name: partial(load, path) for name, path in table.items()}


HIDET_UNIVERSE = Universe(
    all_dialects=_factories(DIALECTS),
    all_passes=_factories(PASSES),
    all_targets=_factories(TARGETS),
)


@cache
def multiverse() -> Universe:
    """Return all installed universes, including hidet's, even if it is not installed."""
    installed = Universe.get_multiverse()
    return Universe(
        all_dialects=installed.all_dialects | HIDET_UNIVERSE.all_dialects,
        all_passes=installed.all_passes | HIDET_UNIVERSE.all_passes,
        all_targets=installed.all_targets | HIDET_UNIVERSE.all_targets,
    )
