"""The settings of the backend: of `torch.compile(..., backend="hidet", mode=..., options=...)`.

`hidet.torch.dynamo_config` has the global ones, by the names of the original Hidet. They are read
when a model is first called; `torch._dynamo.reset()` makes models recompile.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hidet import option
from hidet.absent import missing_member
from hidet.errors import OptionError

FLAGS: dict[str, tuple[bool, str]] = {
    "use_cuda_graph": (True, "replay the kernels as one CUDA Graph"),
    "use_tensor_core": (True, "multiply matrices on tensor cores where the GPU has them"),
    "use_fp16": (False, "compute in float16 what torch's autocast does; results keep their type"),
    "use_fp16_reduction": (False, "have tensor cores sum products of float16 in float16"),
    "correctness_report": (False, "at the first call, print how far each operator is from torch"),
    "print_input_graph": (False, "print the ATen graphs that are compiled"),
    "steal_weights": (False, "accepted: weights are read where torch has them, not copied"),
}
"""The default and the meaning of each flag; the flags are options of `torch.compile` too."""


class DynamoConfig:
    """Global settings of the backend."""

    def __init__(self) -> None:
        self._values: dict[str, bool] = {}

    def __getitem__(self, name: str) -> object:
        """Return the value of a setting.

        Raises:
            OptionError: no such setting.
        """
        if name == "search_space":
            return option.get_option(name)
        if name == "dump_graph_ir":
            return option.get_option("dump_dir")
        if name not in FLAGS:
            names = ", ".join(["search_space", "dump_graph_ir", *FLAGS])
            raise OptionError(f"no setting '{name}'", hint=f"the settings are {names}")
        return self._values.get(name, FLAGS[name][0])

    def __getattr__(self, name: str) -> "Callable[..., DynamoConfig]":
        """Return a setter: `dynamo_config.use_fp16()`, `dynamo_config.use_fp16(False)`."""
        if name not in FLAGS:
            raise missing_member("hidet.torch.dynamo_config", "DynamoConfig", name)

        def set_flag(flag: bool = True) -> DynamoConfig:
            self._values[name] = bool(flag)
            return self

        return set_flag

    def reset(self) -> None:
        """Reset all flags to their defaults."""
        self._values.clear()

    def search_space(self, level: int = 2) -> "DynamoConfig":
        """Set the option `search_space`."""
        option.set_option("search_space", level)
        return self

    def dump_graph_ir(self, output_dir: str | Path) -> "DynamoConfig":
        """Write the program after every pass into a folder."""
        option.set_option("dump_dir", output_dir)
        return self


dynamo_config = DynamoConfig()


MODES: dict[str, dict[str, object]] = {
    "default": {},
    "reduce-overhead": {"use_cuda_graph": True},
    "max-autotune": {"search_space": 2, "use_cuda_graph": True},
    "max-autotune-no-cudagraphs": {"search_space": 2, "use_cuda_graph": False},
}
"""The options that each mode of torch.compile sets."""

OWN_OPTIONS = ("fallback", *FLAGS)
"""The boolean options of the backend itself; those of `hidet.option` are accepted too."""


@dataclass(frozen=True)
class Settings:
    """The settings of one call of `torch.compile`.

    With `fallback`, unsupported operators run in eager torch instead of raising an error. `flags`
    are those not at their default (see `config.FLAGS`), `options` those to set in `hidet.option`.
    """

    fallback: bool = True
    flags: Mapping[str, bool] = field(default_factory=dict[str, bool])
    options: Mapping[str, object] = field(default_factory=dict[str, object])

    def __getitem__(self, flag: str) -> bool:
        """Return the value of a flag."""
        return self.flags.get(flag, FLAGS[flag][0])

    @staticmethod
    def of(mode: str | None, options: Mapping[str, object] | None) -> "Settings":
        """Return the settings for the arguments of torch.compile.

        Raises:
            OptionError: no such mode or option, or an invalid value.
        """
        if mode is not None and mode not in MODES:
            raise OptionError(f"no mode '{mode}'", hint=f"the modes are {', '.join(MODES)}")
        given = {**MODES[mode or "default"], **(options or {})}
        for name, value in given.items():
            if name not in OWN_OPTIONS and name not in option.OPTIONS:
                names = ", ".join([*OWN_OPTIONS, *option.OPTIONS])
                raise OptionError(f"no option '{name}'", hint=f"the options are {names}")
            if name in OWN_OPTIONS and not isinstance(value, bool):
                raise OptionError(
                    f"option '{name}' cannot be {value!r}", hint="it takes True or False"
                )
        flags = {name: bool(given.get(name, dynamo_config[name])) for name in FLAGS}
        others = {name: value for name, value in given.items() if name not in OWN_OPTIONS}
        with option.context(**others):  # validates them
            return Settings(
                fallback=bool(given.get("fallback", True)),
                flags={name: flag for name, flag in flags.items() if flag != FLAGS[name][0]},
                options=others,
            )
