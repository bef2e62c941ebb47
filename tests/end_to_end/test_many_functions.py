"""Many compiled functions in one process: what nobody holds is released."""

import pytest

# Arguments: how many functions, and how many are held at once. All kernels are different.
PROGRAM = """
import gc, os, sys
import torch, hidet

torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 1 << 20
torch._dynamo.config.specialize_int = True
count, held = map(int, sys.argv[1:])
x = torch.randn(4, 8)

def state():
    torch._dynamo.reset()
    gc.collect()
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "kernel.so" in line}
    with open("/proc/self/statm") as pages:
        memory = int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    files = len(os.listdir("/proc/self/fd"))
    return len(libraries), files, len(hidet.torch.compiled_graphs()), memory

states = []
for number in range(count):
    run = torch.compile(lambda x: x.sin() * (number + 1.5), backend="hidet")
    with torch.no_grad():
        torch.testing.assert_close(run(x), x.sin() * (number + 1.5))
    if number % held == held - 1:
        del run
        states.append(state())
for each in states: print(*each)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("count", "held"), [(12, 4), (2000, 100)])
def test_what_nobody_holds_is_released(run_program, count, held):
    """Libraries, files and graphs stay as many as they are; one library stays by design."""
    lines = run_program(PROGRAM, str(count), str(held), timeout=7200).splitlines()
    states = [tuple(map(int, line.split())) for line in lines]
    assert len(states) == count // held
    for libraries, files, graphs, _ in states:
        assert libraries <= 2
        assert graphs == 0
        assert files <= states[0][1] + 1
    # What torch itself keeps of a function is some 40 kB.
    grown = states[-1][3] - states[0][3]
    assert grown < (count - held) * 200_000 + 50_000_000
