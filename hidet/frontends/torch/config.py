"""`hidet.torch.dynamo_config`: settings for all models, in the words of the original Hidet.

They hold for graphs compiled from then on; `torch._dynamo.reset()` has models compiled anew.
"""

import warnings
from pathlib import Path

from hidet import option
from hidet.frontends.torch.notices import NoEffectWarning

_DEFAULTS: dict[str, bool] = {"use_cuda_graph": True, "print_input_graph": False}

_NO_EFFECT: dict[str, str] = {
    "use_tensor_core": "products are computed without tensor cores",
    "use_fp16": "convert the model with `model.half()`",
    "use_fp16_reduction": "sums of half-precision numbers are kept in float32",
    "use_attention": "the parts of attention are compiled as they are written",
    "correctness_report": "compare with eager torch",
    "steal_weights": "weights are read where they are and never copied",
}


class DynamoConfig:
    """Settings of the backend; see the module."""

    def __init__(self) -> None:
        self._values: dict[str, bool] = dict(_DEFAULTS)

    def __getitem__(self, name: str) -> object:
        """Give the value of a setting."""
        if name == "search_space":
            return option.get_option(name)
        if name == "dump_graph_ir":
            return option.get_option("dump_dir")
        return self._values.get(name, False)

    def reset(self) -> None:
        """Give all settings that are kept here their defaults."""
        self._values = dict(_DEFAULTS)

    def search_space(self, level: int = 2) -> "DynamoConfig":
        """Set the option `search_space`."""
        option.set_option("search_space", level)
        return self

    def use_cuda_graph(self, flag: bool = True) -> "DynamoConfig":
        """Replay the kernels of a model as one CUDA Graph."""
        self._values["use_cuda_graph"] = flag
        return self

    def print_input_graph(self, flag: bool = True) -> "DynamoConfig":
        """Print the ATen graphs that are compiled."""
        self._values["print_input_graph"] = flag
        return self

    def dump_graph_ir(self, output_dir: str | Path) -> "DynamoConfig":
        """Write the program after every pass into a folder."""
        option.set_option("dump_dir", output_dir)
        return self

    def use_tensor_core(self, flag: bool = True) -> "DynamoConfig":
        """Accepted without effect."""
        return self._no_effect("use_tensor_core", flag)

    def use_fp16(self, flag: bool = True) -> "DynamoConfig":
        """Accepted without effect."""
        return self._no_effect("use_fp16", flag)

    def use_fp16_reduction(self, flag: bool = True) -> "DynamoConfig":
        """Accepted without effect."""
        return self._no_effect("use_fp16_reduction", flag)

    def use_attention(self, flag: bool = False) -> "DynamoConfig":
        """Accepted without effect."""
        return self._no_effect("use_attention", flag)

    def correctness_report(self, flag: bool = True) -> "DynamoConfig":
        """Accepted without effect."""
        return self._no_effect("correctness_report", flag)

    def steal_weights(self, flag: bool = True) -> "DynamoConfig":
        """Accepted without effect."""
        return self._no_effect("steal_weights", flag)

    def _no_effect(self, name: str, flag: bool) -> "DynamoConfig":
        """Warn that a setting does nothing; switching off what is never on does no harm."""
        if flag:
            warnings.warn(
                f"dynamo_config.{name} has no effect: {_NO_EFFECT[name]}",
                NoEffectWarning,
                stacklevel=3,
            )
        return self


dynamo_config = DynamoConfig()
