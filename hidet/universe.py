"""The registry: every dialect, pass and target of hidet, by name.

An entry is "module:Class", imported at its first use. xDSL's tools see the registry through the
entry point `xdsl.universe`; a new pass needs its name here and its test.
"""

import re
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

STAGES: dict[str, str] = {
    "graph": """
        raise-attention group-heads merge-taps decompose-graph write-in-place share-outputs
        hoist-constants lower-graph-to-compute
    """,
    "compute": """
        inline-views sink-casts order-contractions order-dimensions split-products fuse
        fuse-horizontally fuse-into-kernels update-in-place fold-casts
    """,
    "task": """
        schedule map-tensor-cores map-copies pipeline-copies specialize-warps multicast-copies
        prefetch-operands stage-epilogue inline-compute insert-barriers lower-task
    """,
    "cuda": """
        simplify-index early-cse interchange-loops vectorize instrument-memory flatten-memrefs
        plan-shared-memory infer-readonly demote-scf-values integer-ranges index-width restore-exits
        strength-reduce form-expressions hoist-tensor-maps insert-waits
    """,
    "host": """
        mark-constants plan-memory pass-tensor-maps overlap-launches
    """,
}
"""The passes by the folder of their modules in `hidet/lowering/`."""

_PIPELINES = """
    graph-pipeline compute-pipeline task-pipeline cuda-pipeline kernels-pipeline schedule-pipeline
    lowering-pipeline host-pipeline script-to-cuda script-pipeline hidet-pipeline
"""


def class_name(name: str) -> str:
    """Return the name of a class: FoldCasts for `fold-casts`."""
    return "".join(word.capitalize() for word in re.split("[-_]", name))


PASSES: dict[str, str] = {
    **{
        name: f"hidet.lowering.{stage}.{name.replace('-', '_')}:{class_name(name)}Pass"
        for stage, names in STAGES.items()
        for name in names.split()
    },
    "verify-level": "hidet.lowering.verify_level:VerifyLevelPass",
    **{name: f"hidet.lowering.pipelines:{class_name(name)}" for name in _PIPELINES.split()},
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
