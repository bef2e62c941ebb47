"""Saved graphs: what comes back, what runs, and what files of others can do."""

import json
import random
import subprocess
import sys

import pytest
import torch
from torch import nn

import hidet
from hidet import ops, option
from hidet.errors import HidetError, SavedGraphError
from hidet.frontends.torch.storage import Spec
from hidet.graph import PassContext
from hidet.lowering import pipelines
from hidet.runtime import container as file_format
from hidet.runtime.container import Container

FUZZED = 300
FUZZED_SLOWLY = 10_000


class Outputs(nn.Module):
    """Gives what is no plain result: an argument, a view of one, a weight, one result twice."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 3))
        self.flags = nn.Buffer(torch.tensor([True, False, True]))

    def forward(self, x, n, pair):
        y = x.t() @ self.w * n
        picked = torch.where(self.flags, pair[0], pair[1])
        return x, x[1:], y, {"y": y.t(), "picked": picked}


@pytest.fixture(name="file")
def path_of_a_graph(tmp_path):
    """Return a file with a graph that looks something up, and with its binaries."""
    table, ids = hidet.randn([5, 4]), hidet.symbol([3], "int64")
    graph = hidet.trace_from(ops.relu(ops.take(table, ids) + 1.0))
    path = tmp_path / "graph.hidet"
    graph.build().save(path)
    path.with_suffix(".expected").write_bytes(table.numpy().tobytes())
    return path


def expected(path, ids):
    raw = bytearray(path.with_suffix(".expected").read_bytes())
    return (torch.frombuffer(raw, dtype=torch.float32).view(5, 4)[ids] + 1).relu()


@pytest.fixture(name="stranger")
def another_cache(file, tmp_path):
    """Load files as another user does: with a cache of one's own."""
    assert file.exists()
    with option.context(cache_dir=tmp_path / "stranger"):
        yield


def rewritten(path, change, key=b"a key of somebody else"):
    """Write a file anew, with right hashes, after its content and parts have been changed."""
    old = Container(path)
    parts = {name: bytes(part) for name, part in old._parts.items()}
    content = json.loads(old._header)["content"]
    content, parts = change(content, parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            file_format, "encode", lambda value: value if value is content else encode(value)
        )
        file_format.write(path, content, parts, key)


encode = file_format.encode


@pytest.mark.parametrize("load", [hidet.load_graph, hidet.load_compiled])
def test_what_comes_back(load, tmp_path):
    """All kinds of outputs come back, and no weight is written to."""
    model, path = Outputs().eval(), tmp_path / "model.hidet"
    x, pair = torch.randn(6, 4).t(), (torch.randn(3), torch.randn(3))
    direct = hidet.compile(model, x, 2, pair)
    hidet.save_compiled(direct, path)
    loaded = load(path)
    with torch.no_grad():
        *wanted, rest = model(x, 2, pair)
        model.w.zero_()
    found = [tensor.torch() for tensor in loaded(x, *pair)]
    assert len(found) == 5
    for one, other in zip(found, [*wanted, *rest.values()], strict=True):
        torch.testing.assert_close(one, other)
        assert one.stride() == other.stride()
    with pytest.raises(HidetError, match="input 0 is"):
        loaded(torch.randn(4, 7), *pair)


def test_weights_in_the_order_of_memory(tmp_path):
    """A program takes those of a network in channels-last order as they are."""
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 3)).eval()
    model, path = model.to(memory_format=torch.channels_last), tmp_path / "model.hidet"
    x = torch.randn(1, 3, 7, 7).to(memory_format=torch.channels_last)
    hidet.save_compiled(hidet.compile(model, x), path)
    for load in (hidet.load_graph, hidet.load_compiled):
        torch.testing.assert_close(load(path)(x).torch(), model(x), rtol=1e-4, atol=1e-4)


def test_what_is_shown(file):
    """A graph of a file shows its operators, and keeps its precision."""
    graph = hidet.load_graph(file)
    assert [node.name for node in graph.nodes] == [
        "CheckedPositions", "Cast", "Reshape", "Expand", "Gather", "Fill", "Add", "Relu"
    ]  # fmt: skip
    assert [Spec.of(x.example).shape for x in (*graph.inputs, *graph.outputs)] == [(3,), (3, 4)]
    assert "graph.relu" in str(graph.module)
    ids = torch.tensor([4, 0, 2])
    torch.testing.assert_close(hidet.graph.optimize(graph)(ids).torch(), expected(file, ids))
    assert str(hidet.load_compiled(file)) == str(graph)
    with PassContext() as context:
        context.set_precision("float16")
        with pytest.raises(HidetError, match="keeps its precision"):
            str(hidet.graph.optimize(graph))
    with pytest.raises(HidetError, match="no elements"):
        graph(hidet.symbol([3], "int64"))


def test_saved_again(file, tmp_path):
    """What has been loaded can be saved, with or without binaries."""
    again, ids = tmp_path / "again.hidet", torch.tensor([1, 1, 3])
    hidet.save_graph(hidet.load_graph(file), again)
    torch.testing.assert_close(hidet.load_graph(again)(ids).torch(), expected(file, ids))
    hidet.save_compiled(hidet.load_graph(again), again)  # replaces the file that is mapped
    hidet.save_graph(hidet.load_compiled(again), again)
    with pytest.raises(SavedGraphError, match="with binaries for no machine"):
        hidet.load_compiled(again)


def test_no_pass_runs(file, monkeypatch):
    """A graph whose program is in the cache runs no pass, and one with binaries asks for none."""
    monkeypatch.setattr(pipelines, "run_pipeline", None)
    monkeypatch.setattr("hidet.driver.compilation.compile_program", None)
    ids = torch.tensor([4, 0, 2])
    for load in (hidet.load_graph, hidet.load_compiled):
        torch.testing.assert_close(load(file)(ids).torch(), expected(file, ids))


@pytest.mark.usefixtures("stranger")
def test_code_of_a_stranger(file):
    """Binaries of another user do not run, unless the caller says so; the program does."""
    with pytest.raises(SavedGraphError, match="its binaries are code"):
        hidet.load_compiled(file)
    ids = torch.tensor([4, 0, 2])
    torch.testing.assert_close(
        hidet.load_compiled(file, trusted=True)(ids).torch(), expected(file, ids)
    )
    torch.testing.assert_close(hidet.load_graph(file)(ids).torch(), expected(file, ids))


def test_kernels_of_a_stranger(file):
    """The program of another user has operators only."""
    kernel = "func.func private @other() -> ()\nfunc.func @forward"

    def add_call(content, parts):
        text = (
            parts["program"]
            .decode()
            .replace("func.return", "func.call @other() : () -> ()\nfunc.return")
        )
        return content, parts | {"program": text.replace("func.func @forward", kernel).encode()}

    rewritten(file, add_call)
    with pytest.raises(SavedGraphError, match=r"func.call, which is code|no @forward"):
        hidet.load_graph(file).imported()


def test_positions_of_a_stranger(file):
    """Look-ups without a check get one."""

    def leave_out_check(content, parts):
        lines = parts["program"].decode().splitlines()
        check = next(line for line in lines if "checked_positions" in line)
        lines.remove(check)
        name = check.split("=")[0].strip()
        return content, parts | {"program": "\n".join(lines).replace(name, "%x0").encode()}

    rewritten(file, leave_out_check)
    graph = hidet.load_graph(file)
    with pytest.raises(IndexError):
        graph(torch.tensor([0, 1 << 20, 0]))


@pytest.mark.parametrize("string", ['"' + "a" * 60, '"' + "a" * 60 + r'\q"'])
def test_open_string(file, string):
    """What is no string is refused at once."""

    def put_in(content, parts):
        text = parts["program"].decode().replace("graph.relu", string)
        return content, parts | {"program": text.encode()}

    rewritten(file, put_in)
    with pytest.raises(SavedGraphError, match="open string"):
        hidet.load_graph(file).imported()


def test_another_machine(file):
    rewritten(file, lambda content, parts: ({**content, "machine": "sm_90a"}, parts))
    with pytest.raises(
        SavedGraphError, match=r"binaries for sm_90a; this is cpu-.*\n.*\n.*load_graph"
    ):
        hidet.load_compiled(file)


def test_changed_after_the_check(file):
    """A binary that is written to while it is loaded does not run."""
    container = Container(file)
    (key,) = (name for name, part in container._parts.items() if part[:4] == b"\x7fELF")
    binary = container.read(key)
    with open(file, "r+b") as opened:
        opened.seek(file.read_bytes().find(binary))
        opened.write(b"another")
    with pytest.raises(SavedGraphError, match=f"part '{key}' has another hash"):
        container.read(key)


def test_another_format(file, monkeypatch):
    monkeypatch.setattr(file_format, "FORMAT", file_format.FORMAT + 1)
    with pytest.raises(SavedGraphError, match="of format 1; this hidet reads 2"):
        hidet.load_graph(file)


def test_no_torn_file(file, monkeypatch):
    """A file that cannot be written leaves the old one, and nothing beside it."""
    before, names = file.read_bytes(), sorted(file.parent.iterdir())
    graph = hidet.load_graph(file)

    def fail(_):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="the disk is full"):
        hidet.save_graph(graph, file)
    assert (file.read_bytes(), sorted(file.parent.iterdir())) == (before, names)


def test_what_cannot_be_saved(tmp_path):
    direct = hidet.compile(lambda x: (x + 1, 3), torch.randn(2))
    with pytest.raises(HidetError, match="gives 3, which is no tensor"):
        hidet.save_graph(direct, tmp_path / "x")
    with pytest.raises(HidetError, match="a Linear cannot be saved"):
        hidet.save_graph(torch.nn.Linear(2, 3), tmp_path / "x")
    noisy = hidet.compile(torch.nn.Dropout(), torch.randn(2))
    with pytest.raises(HidetError, match="draws random numbers"):
        hidet.save_graph(noisy, tmp_path / "x")


def test_in_another_process(file):
    """A file is loaded where nothing else has been."""
    program = (
        "import hidet, sys, torch\n"
        "print(hidet.load_compiled(sys.argv[1])(torch.tensor([4, 0, 2])).tolist())"
    )
    command = [sys.executable, "-c", program, str(file)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    found = torch.tensor(json.loads(result.stdout))
    torch.testing.assert_close(found, expected(file, torch.tensor([4, 0, 2])))


def damaged(data, rng):
    """Return bytes with some of them changed, gone, or twice there."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 20])):
        # Half of it in the header, which is small.
        where = rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 2000))
        match rng.randrange(4):
            case 0:
                data[where] ^= 1 << rng.randrange(8)
            case 1:
                del data[where : where + rng.randrange(1, 300)]
            case 2:
                data[where:where] = data[where : where + rng.randrange(1, 300)]
            case 3:
                data[where : where + 8] = rng.choice([b"\xff" * 8, b"\0" * 8, rng.randbytes(8)])
    return bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)


def changed(value, rng):
    """Return a value of JSON with one number, text, list or object in it changed."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        return {**value, key: changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        where = rng.randrange(len(value))
        return [*value[:where], changed(value[where], rng), *value[where + rng.randrange(2) :]]
    return rng.choice(
        [-1, 0, 1, 2, 7, 1 << 40, 1 << 63, 1 << 70, "", "f32", "i64", None, [], {}, 0.5]
    )


def shuffled(text, rng):
    """Return a text with some words in each other's place."""
    words = text.replace("x", " x ").split(" ")
    for _ in range(rng.choice([1, 2, 5])):
        one, other = rng.randrange(len(words)), rng.randrange(len(words))
        words[one] = rng.choice([words[other], "", "-1", "99999999999", "func.call", "]"])
    return " ".join(words).replace(" x ", "x")


def fuzz(file, count, seed):
    """Load that many broken files; return how many of them have been refused."""
    rng = random.Random(seed)
    original, refused = file.read_bytes(), 0
    for _ in range(count):
        match rng.randrange(3):
            case 0:
                file.write_bytes(damaged(original, rng))
            case 1:
                file.write_bytes(original)
                rewritten(file, lambda content, parts: (changed(content, rng), parts))
            case 2:
                file.write_bytes(original)
                rewritten(
                    file,
                    lambda content, parts: (
                        content,
                        parts | {"program": shuffled(parts["program"].decode(), rng).encode()},
                    ),
                )
        try:
            hidet.load_graph(file).imported()
            hidet.load_compiled(file)
        except HidetError:
            refused += 1
    return refused


@pytest.mark.usefixtures("stranger")
def test_fuzzed_files(file):
    """Whatever is in a file, it is read or refused, with an error of the catalogue."""
    assert fuzz(file, FUZZED, torch.seed()) == FUZZED


@pytest.mark.slow
@pytest.mark.usefixtures("stranger")
def test_many_fuzzed_files(file):
    assert fuzz(file, FUZZED_SLOWLY, torch.seed()) == FUZZED_SLOWLY
