"""Options: where values come from, what they may be, how long they last."""

import threading
from pathlib import Path

import pytest
import torch

from hidet import option
from hidet.errors import OptionError

# For each option a value that it takes, what that becomes, and one that it refuses.
EXAMPLES = {
    "target": ("cpu", "cpu", "tpu"),
    "arch": ("sm_90a", "sm_90a", "hopper"),
    "cache_dir": ("/tmp/cache", Path("/tmp/cache"), 3),
    "cache_size_limit": (1000, 1000, 0),
    "num_workers": ("3", 3, True),
    "compile_time_limit": (60, 60, 0),
    "search_space": (2, 2, 3),
    "parallel_k": (2, "2", "many"),
    "verify_level": ("on", True, "perhaps"),
    "checks": (False, False, "perhaps"),
    "overlap_launches": ("off", False, 2),
    "strict": (True, True, "very"),
    "strict_seed": ("7", 7, -1),
    "dump_dir": ("/tmp/dump", Path("/tmp/dump"), 3),
    "full_traceback": ("1", True, 2),
    "progress": ("off", "off", "maybe"),
}


def test_every_option_has_an_example():
    """The examples above go through the whole table."""
    assert list(EXAMPLES) == list(option.OPTIONS)


@pytest.mark.parametrize("name", EXAMPLES)
def test_set_and_get(name):
    """What is set comes back, converted, and is gone after the context."""
    given, value, _ = EXAMPLES[name]
    before = option.get_option(name)
    with option.context():
        option.set_option(name, given)
        assert option.get_option(name) == value
    with option.context(**{name: given}):
        assert option.get_option(name) == value
    assert option.get_option(name) == before


@pytest.mark.parametrize("name", EXAMPLES)
def test_named_functions(name):
    """Every option has a function that sets it and one that reads it."""
    given, value, _ = EXAMPLES[name]
    with option.context():
        getattr(option, name)(given)
        assert type(value)(getattr(option, f"get_{name}")()) == value


@pytest.mark.parametrize("name", EXAMPLES)
def test_environment(name, monkeypatch):
    """The environment beats the default; what is set beats the environment."""
    given, value, _ = EXAMPLES[name]
    variable = "HIDET_DUMP" if name == "dump_dir" else f"HIDET_{name.upper()}"
    monkeypatch.setenv(variable, str(given))
    assert option.get_option(name) == value
    other = option.OPTIONS[name].default()
    with option.context(**{name: other}):
        assert option.get_option(name) == other


@pytest.mark.parametrize("name", EXAMPLES)
def test_bad_value(name):
    """A value that an option cannot take is refused, with what it takes."""
    bad = EXAMPLES[name][2]
    with pytest.raises(OptionError) as caught:
        option.set_option(name, bad)
    assert f"option '{name}' cannot be {bad!r}" in str(caught.value)
    assert option.OPTIONS[name].kind.accepts in str(caught.value)


def test_bad_value_in_environment(monkeypatch):
    """The message names the variable."""
    monkeypatch.setenv("HIDET_SEARCH_SPACE", "many")
    with pytest.raises(OptionError, match="at: environment variable HIDET_SEARCH_SPACE"):
        option.get_option("search_space")


@pytest.mark.parametrize(
    "use", [option.get_option, lambda name: option.set_option(name, 1), lambda _: option.speed]
)
def test_unknown_option(use):
    """An unknown name is refused, with the names that there are."""
    with pytest.raises((OptionError, AttributeError), match="speed"):
        use("speed")
    with pytest.raises(OptionError, match="the options are target, arch"):
        option.get_option("speed")


def test_context_checks_before_it_changes_anything():
    """One bad value in a context leaves the others as they were."""
    with pytest.raises(OptionError), option.context(num_workers=7, target="tpu"):
        pass
    assert option.get_option("num_workers") != 7


def test_contexts_nest():
    """The inner context ends first, also when it ends with an exception."""

    def fail_inside():
        with option.context(search_space=2):
            option.set_option("num_workers", 5)
            assert option.get_option("search_space") == 2
            raise RuntimeError

    with option.context(search_space=1):
        with pytest.raises(RuntimeError):
            fail_inside()
        assert option.get_option("search_space") == 1
        assert option.get_option("num_workers") == option.OPTIONS["num_workers"].default()


def test_threads():
    """What is set for good holds in every thread; a context holds in its own."""
    seen = []

    def read():
        seen.append((option.get_option("search_space"), option.get_option("num_workers")))

    default = option.get_option("num_workers")
    option.set_option("search_space", 1)
    with option.context(num_workers=default + 1):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    assert seen == [(1, default)]


def test_dump_switches_checks_on(tmp_path):
    """Where stages are dumped they are checked too, unless told otherwise."""
    with option.context(dump_dir=tmp_path):
        assert option.get_option("verify_level") is True
        with option.context(verify_level=False):
            assert option.get_option("verify_level") is False
    assert option.get_option("verify_level") is False


def test_describe(monkeypatch):
    """The description tells every option, its value and where that comes from."""
    monkeypatch.setenv("HIDET_PROGRESS", "off")
    with option.context(search_space=2):
        text = option.describe()
    assert "search_space = 2  (set)" in text
    assert "progress = off  (from HIDET_PROGRESS)" in text
    assert "target = auto  (default)" in text
    for entry in option.OPTIONS.values():
        assert entry.description in text


def test_names_of_the_original():
    """The architecture of GPUs is in a group of its own, and the cache's folder is a text."""
    with option.context():
        option.cuda.arch("sm_90a")
        assert (option.get_arch(), option.cuda.get_arch()) == ("sm_90a", "sm_90a")
        assert option.cuda.get_arch_pair() == (9, 0)
        option.cuda.arch("sm_100f")
        assert option.cuda.get_arch_pair() == (10, 0)
        option.num_local_workers(3)
        assert option.get_num_local_workers() == option.get_num_workers() == 3
        option.cache_dir(option.get_cache_dir() + "/more")
        assert option.get_option("cache_dir").name == "more"


@pytest.mark.skipif(torch.cuda.is_available(), reason="the architecture is that of the GPU")
def test_no_architecture():
    with pytest.raises(OptionError, match="there is none"):
        option.cuda.get_arch()
