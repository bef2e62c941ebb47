"""The settings of `torch.compile(..., backend="hidet", mode=..., options=...)`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hidet import option
from hidet.errors import OptionError
from hidet.frontends.torch.config import FLAGS, dynamo_config

MODES: dict[str, dict[str, object]] = {
    "default": {},
    "reduce-overhead": {"use_cuda_graph": True},
    "max-autotune": {"search_space": 2, "use_cuda_graph": True},
    "max-autotune-no-cudagraphs": {"search_space": 2, "use_cuda_graph": False},
}
"""The options that each mode of torch.compile sets."""

OWN_OPTIONS: dict[str, str] = {
    "fallback": "leave what cannot be compiled to eager torch (True), or refuse it (False)",
    **{name: meaning for name, (_, meaning) in FLAGS.items()},
}
"""The boolean options of the backend itself; those of `hidet.option` are accepted too."""


@dataclass(frozen=True)
class Settings:
    """The settings of one call of `torch.compile`.

    Attributes:
        fallback: run unsupported operators in eager torch, instead of raising an error.
        flags: the flags that are not at their default, by name; see `config.FLAGS`.
        options: options of `hidet.option` to set while compiling, by name.
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
