"""What `torch.compile(..., backend="hidet", mode=..., options=...)` may say."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hidet import option
from hidet.errors import OptionError
from hidet.frontends.torch.config import dynamo_config

MODES: dict[str, dict[str, object]] = {
    "default": {},
    "reduce-overhead": {"use_cuda_graph": True},
    "max-autotune": {"search_space": 2, "use_cuda_graph": True},
    "max-autotune-no-cudagraphs": {"search_space": 2, "use_cuda_graph": False},
}
"""The modes of torch.compile, as the options that they stand for."""

OWN_OPTIONS: dict[str, str] = {
    "fallback": "leave what cannot be compiled to eager torch (True), or refuse it (False)",
    "use_cuda_graph": "replay the kernels as one CUDA Graph",
}
"""The options of the backend itself, each True or False; those of `hidet.option` come on top."""


@dataclass(frozen=True)
class Settings:
    """How one call of `torch.compile` wants its graphs compiled.

    Attributes:
        fallback: leave what cannot be compiled to eager torch; otherwise raise an error.
        use_cuda_graph: replay the kernels as one CUDA Graph.
        options: options of `hidet.option` that hold while compiling, by name.
    """

    fallback: bool = True
    use_cuda_graph: bool = True
    options: Mapping[str, object] = field(default_factory=dict[str, object])

    @staticmethod
    def of(mode: str | None, options: Mapping[str, object] | None) -> "Settings":
        """Read what a user gave to torch.compile.

        Raises:
            OptionError: no such mode or option, or a value that the option cannot take.
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
        others = {name: value for name, value in given.items() if name not in OWN_OPTIONS}
        with option.context(**others):  # refuses values that an option cannot take
            return Settings(
                fallback=bool(given.get("fallback", True)),
                use_cuda_graph=bool(given.get("use_cuda_graph", dynamo_config["use_cuda_graph"])),
                options=others,
            )
