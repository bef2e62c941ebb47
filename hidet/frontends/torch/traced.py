"""Stores traced graphs, so that another process need not trace the model again.

To trace and to decompose a training step takes several times as long as all else of a start with
compiled kernels. Torch stores what AOTAutograd has made of a graph of dynamo, with the compiled
graphs, by a key of that graph, its arguments and torch's state. Here the compiled graphs are those
of ATen operators, as programs have a cache of their own, and all is stored in ours.
"""

import pickle
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any
from unittest.mock import patch

import torch
from torch import fx
from torch._dynamo import disable  # pyright: ignore[reportUnknownVariableType]
from torch._dynamo.utils import flatten_graph_inputs
from torch._functorch import config
from torch._functorch._aot_autograd import autograd_cache
from torch._functorch._aot_autograd.schemas import SerializableAOTDispatchCompiler
from torch._functorch.aot_autograd import aot_module_simplified
from torch._inductor import config as inductor_config
from torch._inductor.output_code import OutputCode
from torch._subclasses import FakeTensor
from torch.multiprocessing.reductions import StorageWeakRef

from hidet.errors import CacheError
from hidet.frontends.torch.compiling import Boxed, Programs
from hidet.frontends.torch.pickled import AtenGraph, pickled

CompileGraph = Callable[[AtenGraph], Boxed]
"""Compiles a graph of ATen operators. To be stored with the graph, it can be pickled."""

_OPS: Any = torch._ops  # pyright: ignore[reportPrivateUsage]

_PLAIN = (torch.Tensor, torch.nn.Parameter, FakeTensor)
"""The classes of tensors whose operators are not traced into methods of a user."""

_TRACED = ("ADInplace", "Autocast", "Autograd", "Composite", "Functionalize", "Python")
"""The beginnings of dispatch keys whose kernels are traced."""

_KNOWN = {
    "unsafe_marked_cacheable_functions": {
        f"torch.amp.autocast_mode.{name}": "" for name in ("_enter_autocast", "_exit_autocast")
    }
}
"""Functions that torch could know that it may store."""

_OF_TORCH = {"aten", "prims", "prim", "torch_nn"}
"""The namespaces of operators whose code changes with the version of torch alone."""


class TracedGraph(OutputCode):
    """A compiled graph, which AOTAutograd's cache stores as the graph.

    If `later`, it is compiled at its first call.
    """

    def __init__(
        self, module: fx.GraphModule, compile_graph: CompileGraph, *, later: bool = False
    ) -> None:
        self._boxed_call = True
        self._compile = compile_graph
        self._later = later
        # Now, as to compile a graph may change it.
        self._stored = pickled(module) if config.enable_autograd_cache else None
        graph = AtenGraph.of(module, self._stored)
        self._start(lambda: compile_graph(graph))

    def _start(self, compile_now: Callable[[], Boxed]) -> None:
        """Compile the graph, or let the first call do so."""
        if not self._later:
            self._run = compile_now()
            return
        programs = Programs()

        def run(arguments: Any) -> Sequence[Any]:
            self._run = programs.at("graph", compile_now)
            return self._run(arguments)

        self._run: Boxed = run

    def __call__(self, inputs: Any) -> Sequence[Any]:
        """Run the graph."""
        return self._run(inputs)

    def prepare_for_serialization(self) -> None:
        """Drop what is not stored from a copy of this object.

        Raises:
            BypassAOTAutogradCache: the graph cannot be stored.
        """
        if self._stored is None:
            raise autograd_cache.BypassAOTAutogradCache("the graph cannot be pickled")
        del self._run

    def post_compile(self, example_inputs: Any, constants: Any, graph_kwargs: Any) -> None:
        """Compile the stored graph."""
        assert self._stored is not None
        graph = AtenGraph.stored(self._stored)
        self._start(lambda: self._compile(graph))


def aot_compiler(
    determined_by: str,
    *,
    bw_compiler: Callable[..., TracedGraph],
    **arguments: Any,
) -> Callable[..., Callable[..., Any]]:
    """Return a compiler of dynamo's graphs, whose traces are stored.

    It does what torch's `aot_autograd` does, less an import of inductor that takes half a second.

    Args:
        determined_by: what determines a trace besides the graph and torch's state.
        bw_compiler: compiles backward graphs.
        arguments: the other arguments of torch's `aot_module_simplified`. The compilers among them
            return a `TracedGraph`, too.
    """

    def compile_backward(*graph: Any) -> Any:
        return disable(disable(bw_compiler)(*graph))

    arguments["bw_compiler"] = compile_backward
    for name in ("fw_compiler", "bw_compiler", "inference_compiler"):
        arguments[name] = SerializableAOTDispatchCompiler(TracedGraph, arguments[name])

    def compile_graph(module: Any, example_inputs: Any) -> Callable[..., Any]:
        if any(isinstance(each, list | tuple | dict) for each in example_inputs):
            return flatten_graph_inputs(module, example_inputs, compile_graph)
        nodes, held = _unwrapped(module).graph.nodes, _held(module)
        name = f"a graph of {sum(node.op.startswith('call') for node in nodes)} operators"
        tensors = [*held.values(), *example_inputs]
        may_be_stored = _is_torch_itself() and _may_be_stored(nodes, tensors, held)
        with _storing(determined_by, name, may_be_stored=may_be_stored):
            return disable(aot_module_simplified(module, example_inputs, **arguments))

    return compile_graph


@contextmanager
def _storing(determined_by: str, name: str, *, may_be_stored: bool) -> Generator[None]:
    """Let torch store traces here inside a `with` block, also those of backward graphs.

    Torch's own key depends on inductor's state too, and to import all of inductor takes a second.
    Its own files may be anyone's: they are in a folder of /tmp, and grow without a limit.

    Raises:
        CacheError: other users can write to the cache.
    """
    from hidet.driver.traces import TraceCache

    traces, errors = TraceCache.current(), list[CacheError]()

    def key_of(module: Any, example_inputs: Sequence[Any], aot_config: Any, *_: Any) -> Any:
        return TraceCache.key(determined_by, _hash_of(module, example_inputs, aot_config)), []

    def find(local: bool, remote: object, key: str) -> Generator[tuple[Any, bytes, bool]]:
        try:
            trace = traces.load(key)
        except CacheError as error:  # which torch would log
            errors.append(error)
            raise
        if trace is not None:
            yield pickle.loads(trace), trace, True

    def write(key: str, trace: bytes) -> None:
        if not errors:
            traces.save(key, trace, name)

    flags = {
        "enable_autograd_cache": config.enable_autograd_cache and may_be_stored,
        "bundled_autograd_cache": True,
        "force_non_lazy_backward_lowering": True,
    }
    own_files = patch.multiple(
        autograd_cache.AOTAutogradCache,
        iterate_over_candidates=staticmethod(find),
        _write_to_local_cache=staticmethod(write),
    )
    own_key = patch.object(autograd_cache, "autograd_cache_key", key_of)
    with config.patch(flags), inductor_config.patch(_KNOWN), own_key, own_files:
        yield
    if errors:
        raise errors[0]


def _hash_of(module: Any, example_inputs: Sequence[Any], aot_config: Any) -> str:
    """Return a hash of what determines a trace on torch's side.

    Raises:
        BypassAOTAutogradCache: the graph calls functions that torch does not know.
    """
    module = _unwrapped(module)
    with autograd_cache.sanitize_gm_for_cache(module):
        autograd_cache.check_cacheable(module)
        pickler = autograd_cache.AOTAutogradCachePickler(module)
        static = aot_config.static_input_indices
        inputs = [*_held(module).values(), *example_inputs]
        details = (_state(), module, inputs, _places(inputs), aot_config, static)
        return pickler.get_hash(details)


def _places(inputs: Sequence[Any]) -> list[tuple[int, int, int] | None]:
    """Return where arguments lie that share a storage: its number, its size and the offset."""
    storages = [
        StorageWeakRef(each.untyped_storage()) if isinstance(each, torch.Tensor) else None
        for each in inputs
    ]
    counts, numbers = Counter(storages), {each: n for n, each in enumerate(dict.fromkeys(storages))}
    return [
        None
        if storage is None or counts[storage] == 1
        else (numbers[storage], each.untyped_storage().nbytes(), int(each.storage_offset()))
        for each, storage in zip(inputs, storages, strict=True)
    ]


def _state() -> tuple[object, ...]:
    """Return torch's state that AOTAutograd, and what it traces, may depend on."""
    cuda: Any = torch.backends.cuda
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    return (
        torch.__version__,
        config.save_config(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        [(torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in ("cuda", "cpu")],
        torch.backends.cudnn.enabled,
        torch.backends.mkldnn.enabled,
        (cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled(), cuda.math_sdp_enabled()),
        [torch.cuda.get_device_name(device) for device in devices],
    )


def _unwrapped(module: Any) -> fx.GraphModule:
    """Return the module inside of torch's wrapper of those that take lists."""
    return getattr(module, "gm", module)


def _held(module: Any) -> dict[str, torch.Tensor]:
    """Return the tensors of a module that AOTAutograd passes ahead of the arguments, by name.

    The graph of an optimizer's step holds the parameters and their moments.
    """
    module = _unwrapped(module)
    parameters = module.named_parameters(remove_duplicate=False)
    return dict(chain(parameters, module.named_buffers(remove_duplicate=False)))


def _may_be_stored(
    nodes: Iterable[fx.Node], example_inputs: Iterable[Any], held: Container[object] = ()
) -> bool:
    """Return whether no code but torch's determines what a graph is traced to.

    Operators of a user are traced into, and so are their gradients, the methods of subclasses of
    tensors, and the bodies of higher-order operators, which a graph holds. It holds constants, too,
    but not those that are named `held`: they are arguments. Torch itself checks the functions.
    """
    return (
        not saved_tensors_are_hooked()
        and all(type(each) in _PLAIN for each in example_inputs if isinstance(each, torch.Tensor))
        and all(
            node.op in ("placeholder", "call_method", "output")
            or (node.op == "get_attr" and node.target in held)
            or (node.op == "call_function" and _is_no_operator_of_user(node.target))
            for node in nodes
        )
    )


def _is_torch_itself() -> bool:
    """Return whether no code of a user takes part in tracing torch's own operators."""
    library: Any = torch.library
    unsaved: list[str] = config._save_config_ignore  # pyright: ignore[reportPrivateUsage]
    kernels = (each for each in library._impls if each.startswith("aten/"))
    return (
        not any(each.rpartition("/")[2].startswith(_TRACED) for each in kernels)
        and not any(each.startswith("aten") for each in library._defs)
        and not any(callable(getattr(config, name)) for name in unsaved)
    )


def _is_no_operator_of_user(target: Any) -> bool:
    """Return whether a function is an operator of torch, or none."""
    if isinstance(target, _OPS.OpOverload | _OPS.OpOverloadPacket):
        return str(target).split(".")[0] in _OF_TORCH
    return not isinstance(target, _OPS.HigherOrderOperator)


def saved_tensors_are_hooked() -> bool:
    """Return whether there are hooks on saved tensors, such as to offload them."""
    autograd: Any = torch._C._autograd  # pyright: ignore
    return autograd._top_saved_tensors_default_hooks(True) is not None
