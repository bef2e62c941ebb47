"""Malformed programs for hidet-opt: those of the lit tests, with tokens that are changed at random.

    python mutations.py <seed> <count>

Runs so many in this process, within 2 GiB of memory, and prints those that end in anything but a
result or an error with a message.
"""

import contextlib
import io
import random
import re
import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

LIT_TESTS = Path(__file__).parents[2] / "lit_tests"
TOKEN = re.compile(r'"[^"\n]*"|[%@#!^]?[\w.$-]+|\s+|.', re.DOTALL)
RUN = re.compile(r"RUN: hidet-opt (.*?)(?:\||$)", re.MULTILINE)
NUMBERS = (
    "0",
    "-1",
    "1099511627776",
    "9223372036854775807",
    "99999999999999999999",
    "1e400",
    "4096",
)
MEMORY = 2 << 30
SECONDS = 20
ENDLESS = "%s took more than %d seconds"


def programs() -> list[tuple[str, list[str], str]]:
    """List the programs of the lit tests: the file, the arguments, one part of the text."""
    found: list[tuple[str, list[str], str]] = []
    for path in sorted(LIT_TESTS.rglob("*.mlir")):
        text = path.read_text()
        for command in RUN.findall(text)[:1]:
            words = [w.strip("'\"") for w in re.findall(r"'[^']*'|\"[^\"]*\"|\S+", command)]
            keep = [w for w in words if w not in ("%s", "--split-input-file")]
            keep = keep[: next((n for n, w in enumerate(keep) if w in (">", "2>&1")), None)]
            parts = text.split("// -----")
            found += [(str(path.relative_to(LIT_TESTS)), keep, part) for part in parts]
    return found


def mutate(text: str, chance: random.Random) -> str:
    """Change a few tokens of a program."""
    code = "\n".join(line.split("//")[0] for line in text.splitlines())
    tokens = [token for token in TOKEN.findall(code) if token]
    places = [n for n, token in enumerate(tokens) if not token.isspace()]
    if not places:
        return text
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        place, other = chance.choice(places), chance.choice(places)
        match chance.randrange(8):
            case 0:
                tokens[place] = ""
            case 1:
                tokens[place] += " " + tokens[place]
            case 2:
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case 3:
                tokens[place] = tokens[other]
            case 4 | 5:
                numbers = [n for n in places if re.fullmatch(r"-?\d+", tokens[n])] or [place]
                tokens[chance.choice(numbers)] = chance.choice(NUMBERS)
            case 6:
                deep = chance.choice(("(", "[", "{", "tensor<", "#task.map<"))
                tokens[place] = deep * chance.choice((3, 5000))
            case _:
                tokens[place] = chance.choice(('"', "\0", "\u00e9", "}", "->", ":", "<", "?", "!x"))
    return "".join(tokens)


def mutations(seed: int, count: int) -> Iterator[tuple[str, list[str], str]]:
    """Give so many malformed programs, each with its name and arguments."""
    sources = programs()
    for number in range(seed, seed + count):
        chance = random.Random(number)
        name, arguments, text = chance.choice(sources)
        yield f"{name} {number}", arguments, mutate(text, chance)


class EndlessError(BaseException):
    """A program took too long."""


def failure(arguments: list[str], text: str) -> str | None:
    """Run hidet-opt on a text; tell what is wrong with how it ended, if anything."""
    from hidet.tools import hidet_opt

    def stop(number: int, frame: object) -> None:
        raise EndlessError

    output, errors = io.StringIO(), io.StringIO()
    # Time of this process: the machine may be busy with others.
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            status = hidet_opt.main(arguments, io.BytesIO(text.encode(errors="replace")))
    except SystemExit as error:
        return None if error.code == 2 else f"exit {error.code}"
    except EndlessError:
        return "it took too long\n" + traceback.format_exc()[-800:]
    except MemoryError:
        return "it took too much memory"
    except BaseException:  # noqa: BLE001 (whatever it is, it is what the test is about)
        return traceback.format_exc()[-1800:]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    said = errors.getvalue()
    if status == 0 or ("hidet-opt: " in said and "  cause: " not in said):
        return None
    return f"status {status}: {said[-1500:]}"


def main() -> None:
    """Run the mutations that the command line asks for."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    bad = 0
    for name, arguments, text in mutations(int(sys.argv[1]), int(sys.argv[2])):
        reason = failure(arguments, text)
        if reason is not None:
            bad += 1
            print(f"==== {name} {arguments}\n{reason}", flush=True)
    print(bad, "failed")


if __name__ == "__main__":
    main()
