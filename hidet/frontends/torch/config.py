"""`hidet.torch.dynamo_config`: settings for all models, in the words of the original Hidet.

They hold for graphs compiled from then on; `torch._dynamo.reset()` has models compiled anew.
"""

import warnings
from pathlib import Path

from hidet import option
from hidet.errors import OptionError
from hidet.frontends.torch.notices import NoEffectWarning

_DEFAULTS: dict[str, bool] = {"use_cuda_graph": True, "print_input_graph": False}

_FIXED: dict[str, tuple[bool, str]] = {
    "use_tensor_core": (True, "the fastest kernel is taken; torch's own flags permit TF32"),
    "use_fp16": (False, "convert the model with `model.half()`"),
    "use_fp16_reduction": (False, "sums of half-precision numbers are kept in float32"),
    "correctness_report": (False, "compare with eager torch"),
}
"""Settings of the original that cannot be changed here: what holds, and what to do or to know."""


class DynamoConfig:
    """Settings of the backend; see the module."""

    def __init__(self) -> None:
        self._values: dict[str, bool] = dict(_DEFAULTS)

    def __getitem__(self, name: str) -> object:
        """Give the value of a setting.

        Raises:
            OptionError: there is none of this name.
        """
        if name == "search_space":
            return option.get_option(name)
        if name == "dump_graph_ir":
            return option.get_option("dump_dir")
        settings = {each: value for each, (value, _) in _FIXED.items()} | self._values
        if name not in settings:
            names = ", ".join(["search_space", "dump_graph_ir", *settings])
            raise OptionError(f"no setting '{name}'", hint=f"the settings are {names}")
        return settings[name]

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
        """Warn where tensor cores are not wanted."""
        return self._fixed("use_tensor_core", flag)

    def use_fp16(self, flag: bool = True) -> "DynamoConfig":
        """Warn where models are to be converted."""
        return self._fixed("use_fp16", flag)

    def use_fp16_reduction(self, flag: bool = True) -> "DynamoConfig":
        """Warn where sums are to be less precise."""
        return self._fixed("use_fp16_reduction", flag)

    def correctness_report(self, flag: bool = True) -> "DynamoConfig":
        """Warn where a report is wanted."""
        return self._fixed("correctness_report", flag)

    def _fixed(self, name: str, flag: bool) -> "DynamoConfig":
        """Warn about a setting that does not become what is asked for."""
        holds, reason = _FIXED[name]
        if flag != holds:
            warnings.warn(
                f"dynamo_config.{name}({flag}) has no effect: {reason}",
                NoEffectWarning,
                stacklevel=3,
            )
        return self


dynamo_config = DynamoConfig()
