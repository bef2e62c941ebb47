"""What to use instead of names of the original Hidet that are not about scripts, by modules.

    ABSENT_IN["hidet.cuda"]["malloc* free*"]     # names of a module that is here
    ABSENT_MODULES["hidet.nn"]                   # a module that is not

Modules and names are patterns. `docs/script/hidet.md` shows both tables.
"""

_NN = "torch.nn, whose modules torch.compile(model, backend='hidet') compiles"
_IR = "the IR of xDSL, in hidet.dialects; hidet-opt runs passes on its text"
_SCRIPT = "@hidet.script: a kernel as a function of Python"
_TILES = "hidet.lang.task: copy, matmul and combine of tiles of a block"
_TORCH_CUDA = "torch.cuda, on whose current stream kernels are launched"
_MEMORY = "tensors of torch: torch.empty(...), y.copy_(x), x.zero_()"
_TRACED = "hidet.trace_from(y), and graph.build(), hidet.save_graph, hidet.load_graph"
_BUILT = "module.build(), which finds in the cache what has been compiled before"
_PASSES = "hidet-opt -p 'fuse,schedule'; passes are classes in hidet.lowering"
_DUMP = "hidet.option.dump_dir(folder), or HIDET_DUMP=folder: the program after every pass"
_PYTHON = "Python's own library"

ABSENT_MODULES: dict[str, str] = {
    "hidet.nn": _NN,
    "hidet.distributed": "torch.distributed",
    "hidet.hip": "hidet.cuda: there are kernels for NVIDIA's GPUs and for the CPU",
    "hidet.lang.hip": "hidet.lang.cuda: there are kernels for NVIDIA's GPUs and for the CPU",
    "hidet.logging": "Python's logging; warnings are those of Python's warnings",
    "hidet.ffi": "module.build(), which gives functions of Python",
    "hidet.onnx": "hidet.graph.frontend.from_onnx",
    "hidet.dtypes": "hidet.lang.types",
    "hidet.ir.dtypes.vector": "hidet.lang.types: f16x2, f32x4 and others",
    "hidet.transforms": _PASSES,
    "hidet.lang.cpu": "loops of a cpu_kernel, which the compiler of C++ vectorizes",
    "hidet.lang.runtime": "a tensor that is passed to the kernel; torch.cuda.current_stream()",
    "hidet.lang.script": "hidet.script and hidet.script_module",
    "hidet.lang.transpiler": _SCRIPT,
    "hidet.ir.cute": _TILES,
    "hidet.ir.cute.algorithm": _TILES,
    "hidet.ir.cute.layout": "hidet.lang.layout and hidet.lang.mapping",
    "hidet.ir.cute.ops": _TILES,
    "hidet.ir.compute": _SCRIPT,
    "hidet.ir.task": _SCRIPT,
    "hidet.ir.library": _SCRIPT,
    "hidet.ir.library.tune": "hidet.option.search_space: what the tuner tries for graphs",
    "hidet.ir.functors": _IR,
    "hidet.ir.tools": _IR,
    "hidet.ir.utils": _IR,
    "hidet.ir.transforms": _PASSES,
    "hidet.ir.schedulers": "hidet.option.search_space: schedules are chosen by the compiler",
    "hidet.ir.target": "hidet.option.target and hidet.option.arch",
    "hidet.graph.nn": _NN,
    "hidet.graph.ops": "hidet.ops",
    "hidet.graph.ops.utils": _SCRIPT,
    "hidet.graph.operator": "hidet.graph.Operator",
    "hidet.graph.flow_graph": "hidet.graph.FlowGraph and hidet.trace_from",
    "hidet.graph.tensor": "hidet.Tensor, hidet.randn and others, in hidet",
    "hidet.graph.transforms": _PASSES,
    "hidet.graph.quant": "nothing: graphs are compiled in the types that they have",
    "hidet.graph.frontend.torch": "hidet.torch.register_op: a script as an operator of torch",
    "hidet.graph.frontend.torch.registry": "hidet.torch.register_op: a script as an operator",
    "hidet.cuda.cublas": "torch.matmul",
    "hidet.cuda.cudnn": "torch.nn.functional.conv2d",
    "hidet.cuda.nccl": "torch.distributed",
    "hidet.drivers.build_module": "hidet.drivers.build_ir_module, or module.build()",
    "hidet.drivers.build_task": _SCRIPT,
    "hidet.runtime.compiled_module": _BUILT,
    "hidet.runtime.compiled_task": _BUILT,
    "hidet.runtime.storage": _MEMORY,
    "hidet.utils.ncu_utils": "ncu python script.py, in a shell",
    "hidet.utils.nsys_utils": "nsys profile python script.py, in a shell",
}
"""Modules of the original that are not here."""

ABSENT_IN: dict[str, dict[str, str]] = {
    "hidet": {
        "Device device": "torch.device, or its name: 'cuda:0'",
        "Module": _NN,
        "load_task save_task": _BUILT,
    },
    "hidet.option": {
        "*bench_config *fix_gpu_frequency_for_tuning": "search_space, for all of the tuning",
        "*cache_operator": "cache_dir: whatever is compiled is kept there",
        "create_toml_doc register_*option* is_option_exist": "describe(), which tells all options",
        "current_context dump_options restore_options": "with context(name=value): ...",
        "debug_cache_tuning": "hidet tune, in a shell, which shows what was measured",
        "debug_strict_broadcast_check *runtime_check": "nothing: arguments are always checked",
        "debug_* *save_lower_ir": "dump_dir(folder): the program after every pass",
        "*execution_mode": "hidet.trace_from, where operators are to be recorded and not run",
        "*hexcute_matmul *parallel_k": "search_space: schedules are chosen by the compiler",
        "*num_local_workers *parallel_build *parallel_tune": "num_workers",
        "*use_torch_stream": "nothing: kernels are launched on torch's current stream",
    },
    "hidet.cuda": {
        "capability": "torch.cuda.get_device_capability()",
        "*stream Stream ExternalStream Event": _TORCH_CUDA,
        "device set_device profiler_*": _TORCH_CUDA,
        "malloc* free* memcpy* memset*": _MEMORY,
        "memory_info": "torch.cuda.mem_get_info()",
    },
    "hidet.utils": {
        "blue bold cyan green red": "print; messages of hidet have no colours",
        "cache_* clear_*": "hidet.option.cache_dir, and `hidet cache` in a shell",
        "error_tolerance": "assert_close(actual, expected, rtol, atol)",
        "gc_disabled initialize repeat_until_converge str_indent": _PYTHON,
        "copy_tree_ignore_existing download get_next_file_index": _PYTHON,
        "factorize index_of same_list strict_zip unique": _PYTHON,
        "do_bench": "benchmark_func",
        "netron": _DUMP,
    },
    "hidet.utils.benchmark": {
        "do_bench Bench": "benchmark_func",
        "GPUSetFrequencyForBenchmarking": "nvidia-smi --lock-gpu-clocks, in a shell",
    },
    "hidet.driver hidet.drivers": {
        "build_task*": _SCRIPT,
        "build_flow_graph": "graph.build(space=0)",
    },
    "hidet.runtime": {
        "load_compiled_graph save_compiled_graph": "the same names in hidet",
        "CompiledGraph": _TRACED,
        "CompiledModule CompiledFunction CompiledTask load_compiled_*": _BUILT,
        "Storage": _MEMORY,
    },
    "hidet.graph": {
        "*Instrument forward_context": _DUMP,
    },
    "hidet.torch": {
        "*available register_dynamo_backends": "nothing: `import hidet` registers the backend",
        "from_torch": "hidet.graph.frontend.from_torch",
        "gather_unsupported_ops": (
            "torch.compile(model, backend='hidet', options={'fallback': False}), "
            "whose error names them"
        ),
    },
    "hidet.testing": {
        "check_* assert_torch_allclose": "torch.testing.assert_close, or hidet.testing.numeric",
        "capture_stdout device_to_torch torch_utils onnx_* models": "pytest, and torch itself",
    },
    "hidet.ir.expr": {
        "[A-Z]*": "operators of Python on values of a script: a + b, x[i]",
    },
    "Tensor": {
        "hip vhip_ hip_ vcuda_ cuda_": "x.cuda(), x.to(device='cuda'): a tensor elsewhere",
        "*_async": "x.torch().to(device, non_blocking=True)",
        "layout": "x.torch().stride()",
    },
    "FlowGraph": {
        "hip* vhip_ vcuda_ cuda_": "symbols on the GPU: hidet.symbol_like(x, device='cuda')",
        "save load": "hidet.save_graph(graph, path), hidet.load_graph(path)",
        "invalid_cache update_nodes usage_count share_map": "hidet.trace_from(y), which makes anew",
    },
    "Operator": {
        "device build_target": "the device of its tensors",
        "compiled_task share_map run_torch": "hidet.trace_from(y), and graph.build()",
    },
    "PassContext": {
        "reduce_hip_compile_mem *source_graph_removal*": "nothing: leave it out",
    },
    "BuiltGraph": {
        "get_cache_dir": "hidet.option.get_cache_dir()",
        "dispatch_table": "nothing: a graph is built for its shapes",
        "set_weights": "hidet.trace_from(y), with the other weights",
        "hip_graph": "graph.cuda_graph()",
    },
    "CudaGraph": {
        "copy_inputs": "graph.run([x]), which copies x and returns the results",
    },
    "DynamoConfig": {
        "use_attention": "nothing: attention is found wherever it is written",
    },
    "TaskMap": {
        "projection": "mapping.project(dims)",
        "permute reshape": "strided_layout(shape, ranks), of hidet.lang.layout",
        "global2cond": "layout.within_bound(i, j)",
        "serialize": "layout(i, j)",
    },
    "hidet.backend": {
        "codegen compile_source build": "module.source(), module.build()",
    },
}
"""Names that modules, and classes, have in the original and not here."""
