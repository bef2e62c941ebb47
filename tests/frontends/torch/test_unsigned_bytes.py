"""torch.uint8: every operator gives what eager torch gives, data type and wrapping included."""

import pytest
import torch

F = torch.nn.functional
SIZES = (5, 6)

CASES = {
    "to float": lambda a, b, i, f: a.float() / 255,
    "to half": lambda a, b, i, f: a.half(),
    "to int8": lambda a, b, i, f: a.to(torch.int8),
    "to bool": lambda a, b, i, f: a.bool(),
    "of int8": lambda a, b, i, f: i.to(torch.uint8),
    "of int32": lambda a, b, i, f: (i.int() * 5).to(torch.uint8),
    "of float": lambda a, b, i, f: (f.abs() * 50).to(torch.uint8),
    "of bool": lambda a, b, i, f: (f > 0).to(torch.uint8),
    "sums wrap": lambda a, b, i, f: (a + b, a - b, -a, 255 - a, torch.add(a, b, alpha=3)),
    "products wrap": lambda a, b, i, f: (a * b, a * 7, a * -1, a**2, a**3, b**a),
    "numbers wrap": lambda a, b, i, f: (a + 300, a - 1, 3 - a - b * a),
    "divisions": lambda a, b, i, f: (a / (b | 1), a // (b | 1), a % (b | 1)),
    "bits": lambda a, b, i, f: (a & b, a | b, a ^ b, ~a),
    "shifts": lambda a, b, i, f: (a << 1, a << (b % 10), a >> 2, a >> (b % 8)),
    "comparisons": lambda a, b, i, f: (a < b, a > 127, a == b, a != 255),
    "promotion": lambda a, b, i, f: (a + i, a + f, a * 0.5, a + f.half(), a + (f > 0)),
    "extremes": lambda a, b, i, f: (torch.maximum(a, b), a.clamp(10, 200), a.amax(1), a.max(0)),
    "sums": lambda a, b, i, f: (a.sum(), a.sum(0, dtype=torch.uint8), a.prod(1)),
    "truth": lambda a, b, i, f: (a.all(1), a.any(), torch.logical_and(a, b), torch.logical_not(a)),
    "order": lambda a, b, i, f: (a.sort(1), a.topk(3).values, a.argmin(1)),
    "views": lambda a, b, i, f: (a.t(), (a + 1).t(), a[1:, ::2], a.view(5, 2, 3).permute(2, 0, 1)),
    "moves": lambda a, b, i, f: (a.flip(1), torch.cat([a, b]), torch.cat([a, i]), a.repeat(2, 1)),
    "pads": lambda a, b, i, f: F.pad(a, (1, 2), value=7),
    "choices": lambda a, b, i, f: (torch.where(f > 0, a, b), a.masked_fill(f > 0, 9)),
    "look-ups": lambda a, b, i, f: (a[torch.tensor([1, 0])], a.gather(1, b.long() % 6)),
    "writes": lambda a, b, i, f: (
        a.index_put((torch.tensor([1]),), b[0]),
        a.scatter_add(1, b.long() % 6, b),
    ),
    "creation": lambda a, b, i, f: (torch.zeros_like(a) + 3, torch.full_like(a, 200) * 2),
    "products of matrices": lambda a, b, i, f: a @ b.t(),
    "normalised": lambda a, b, i, f: (a.permute(1, 0).float() / 255 - 0.5) / 0.25,
}


def arguments():
    torch.manual_seed(0)
    a, b = (torch.randint(0, 256, SIZES, dtype=torch.uint8) for _ in range(2))
    a[0, :3] = torch.tensor([0, 255, 128])
    i = torch.randint(-128, 128, SIZES, dtype=torch.int8)
    return a, b, i, torch.randn(SIZES)


@pytest.mark.parametrize("name", CASES)
def test_operators(programs, name):
    compiled = torch.compile(CASES[name], backend="hidet", options={"fallback": False})
    torch.testing.assert_close(compiled(*arguments()), CASES[name](*arguments()))
    assert len(programs) == 1


def test_kernels_and_memory():
    """An image that is not contiguous, on the way to a network and back, and written."""

    def step(image, mean):
        x = image.permute(2, 0, 1).float() / 255 - mean
        image[:2] = 7
        image.add_(250)
        return x, (x.abs() * 255).round().to(torch.uint8), image[0]

    torch.compiler.reset()
    image = torch.randint(0, 256, (6, 8, 3), dtype=torch.uint8)
    compiled = torch.compile(step, backend="hidet", options={"fallback": False})
    for view in (image, image.clone()[:, 1::2]):
        mine, eager = view.clone(), view.clone()
        mean = torch.rand(3, 1, 1)
        torch.testing.assert_close(compiled(mine, mean), step(eager, mean))
        torch.testing.assert_close(mine, eager)
