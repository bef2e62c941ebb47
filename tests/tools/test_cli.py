"""The command `hidet`."""

import pytest

import hidet
from hidet.tools import cli


def test_version(capsys):
    """--version tells the version."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["--version"])
    assert not caught.value.code
    assert capsys.readouterr().out == f"hidet {hidet.__version__}\n"


def test_no_command(capsys):
    """Without a command the commands are told."""
    with pytest.raises(SystemExit) as caught:
        cli.main([])
    assert caught.value.code == 2
    assert "{cache,option,env}" in capsys.readouterr().err


def test_option(capsys):
    """`hidet option` tells every option."""
    assert cli.main(["option"]) == 0
    assert "search_space = 0  (default)" in capsys.readouterr().out


def test_env(capsys):
    """`hidet env` tells what a bug report needs."""
    assert cli.main(["env"]) == 0
    rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert rows["hidet"] == hidet.__version__
    assert rows["xdsl"].startswith("0.74.")
    assert {"Python", "torch", "nvcc", "g++"} <= set(rows)


def test_bad_option_value(capsys, monkeypatch):
    """An error is told without a traceback, and fails the command."""
    monkeypatch.setenv("HIDET_TARGET", "tpu")
    assert cli.main(["option"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("hidet: option 'target' cannot be 'tpu'")
    assert "environment variable HIDET_TARGET" in error


@pytest.mark.parametrize("command", ["show", "clear"])
def test_cache_commands(command, tmp_path, capsys):
    """`hidet cache show` and `clear` work on the folder that they are given."""
    assert cli.main(["cache", command, "--root", str(tmp_path / "cache")]) == 0
    assert str(tmp_path / "cache") in capsys.readouterr().out
