"""Random programs of integers, as text of a script and as what numpy makes of them.

A program is an expression over all integer types, or a loop that computes one again and again. The
rules of C say in which type an operator is computed: of two the wider one, of one width the
unsigned one, never less than 32 bits.
"""

from dataclasses import dataclass

import numpy as np

THREADS = 64
TYPES = {f"{sign}{bits}": np.dtype(f"{'u' if sign == 'u' else ''}int{bits}")
         for sign in "iu" for bits in (8, 16, 32, 64)}  # fmt: skip
SCALARS = ("i32", "u32", "i64", "u64")
SYMBOLS = ("+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^", "max", "min")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class Term:
    """A part of a program.

    Attributes:
        text: how a script says it.
        kind: the name of its type, "" for a number that takes that of the other operand.
        value: what it is for each thread.
    """

    text: str
    kind: str
    value: np.ndarray


def numbers(random, kind, count):
    """Return numbers of a type; many of them small, or next to its limits."""
    limits = np.iinfo(TYPES[kind])
    edges = [limits.min, limits.min + 1, 0, 1, 2, 3, 7, 31, 32, limits.max - 1, limits.max]
    edges += [] if kind[0] == "u" else [-1, -2, -7, -32]
    chosen = [
        random.choice(edges) if random.random() < 0.4 else random.randint(limits.min, limits.max)
        for _ in range(count)
    ]
    return np.array(chosen, TYPES[kind])


def promoted(kind):
    """Return the type in which a type is computed."""
    return kind if kind[1:] in ("32", "64") else "i32"


def common(one, other):
    """Return the type in which two are computed."""
    if not one or not other:
        return promoted(one or other)
    one, other = promoted(one), promoted(other)
    if one[1:] == other[1:]:
        return "u" + one[1:] if "u" in one[0] + other[0] else one
    return one if one[1:] == "64" else other


def computed(symbol, lhs, rhs):
    """Return what an operator makes of two arrays of one type, which wraps around."""
    plain = {"+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and,
             "|": np.bitwise_or, "^": np.bitwise_xor, "max": np.maximum,
             "min": np.minimum}  # fmt: skip
    if symbol in plain:
        return plain[symbol](lhs, rhs)
    zero, one, minus = (np.asarray(number).astype(lhs.dtype) for number in (0, 1, -1))
    if symbol in ("//", "%"):
        whole = symbol == "//"
        found = (np.floor_divide if whole else np.remainder)(lhs, np.where(rhs == 0, one, rhs))
        return np.where(rhs == 0, minus if whole else lhs, found)
    inside = (rhs >= 0) & (rhs < lhs.dtype.itemsize * 8)
    count = np.where(inside, rhs, zero)
    if symbol == "<<":
        return np.where(inside, np.left_shift(lhs, count), zero)
    return np.where(inside, np.right_shift(lhs, count), np.where(lhs < 0, minus, zero))


class Generator:
    """Makes programs at random.

    Attributes:
        inputs: the arrays that they read, by name; each has the type that it is named after.
        scalars: the numbers that they are given.
    """

    def __init__(self, random):
        self.random = random
        self.inputs = {f"x_{kind}": numbers(random, kind, THREADS) for kind in TYPES}
        self.scalars = {f"n_{kind}": numbers(random, kind, 1)[0] for kind in SCALARS}
        self.names = {}

    def leaf(self):
        """Return an element, a scalar, a number, a variable or the thread."""
        choice = self.random.random()
        if self.names and choice < 0.3:
            name, (kind, value) = self.random.choice(list(self.names.items()))
            return Term(name, kind, value)
        if choice < 0.7:
            name = self.random.choice(list(self.inputs))
            return Term(f"{name}[t]", name[2:], self.inputs[name])
        if choice < 0.8:
            name = self.random.choice(list(self.scalars))
            return Term(name, name[2:], np.full(THREADS, self.scalars[name]))
        kind = self.random.choice(list(TYPES))
        if choice < 0.85:
            return Term(f"{kind}(t)", kind, np.arange(THREADS).astype(TYPES[kind]))
        number = numbers(self.random, kind, 1)[0]
        return Term(f"{kind}({number})", kind, np.full(THREADS, number))

    def term(self, depth):
        """Return an expression of bounded depth."""
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf()
        choice = self.random.random()
        if choice < 0.65:
            return self.operator(self.random.choice(SYMBOLS), depth)
        if choice < 0.8:
            return self.converted(self.term(depth - 1), self.random.choice(list(TYPES)))
        if choice < 0.9:
            return self.unary(depth)
        return self.selected(depth)

    def sides(self, depth):
        """Return two operands in the type in which they are computed."""
        lhs, rhs = self.term(depth - 1), self.term(depth - 1)
        if self.random.random() < 0.3:  # a number of Python takes the type of the other side
            number = self.random.choice((0, 1, 2, 3, 5, 8, 16, 31, 100, 1 << 20))
            if TYPES[promoted(lhs.kind)].itemsize == 8:
                number = self.random.choice((number, 1 << 40))
            rhs = Term(str(number), "", np.full(THREADS, number))
        kind = common(lhs.kind, rhs.kind)
        return lhs, rhs, kind, [each.value.astype(TYPES[kind]) for each in (lhs, rhs)]

    def operator(self, symbol, depth):
        """Return two expressions with an operator."""
        lhs, rhs, kind, values = self.sides(depth)
        text = f"({lhs.text} {symbol} {rhs.text})"
        if symbol in ("max", "min"):
            text = f"{symbol}({lhs.text}, {rhs.text})"
        return Term(text, kind, computed(symbol, *values))

    def converted(self, term, kind):
        """Return an expression in another type."""
        return Term(f"{kind}({term.text})", kind, term.value.astype(TYPES[kind]))

    def unary(self, depth):
        """Return an expression with an operator of one operand; of 32 bits at least."""
        term = self.converted(self.term(depth - 1), self.random.choice(SCALARS))
        if self.random.random() < 0.5:
            return Term(f"(~{term.text})", term.kind, np.invert(term.value))
        return Term(f"(-{term.text})", term.kind, np.zeros_like(term.value) - term.value)

    def selected(self, depth):
        """Return one of two expressions of one type, by a comparison."""
        lhs, rhs, _, (one, other) = self.sides(depth)
        symbol, kind = self.random.choice(COMPARISONS), self.random.choice(list(TYPES))
        then, otherwise = (self.converted(self.term(depth - 1), kind) for _ in range(2))
        compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
                   "==": np.equal, "!=": np.not_equal}  # fmt: skip
        value = np.where(compare[symbol](one, other), then.value, otherwise.value)
        text = f"({then.text} if {lhs.text} {symbol} {rhs.text} else {otherwise.text})"
        return Term(text, kind, value)

    def program(self, number):
        """Return the statements of a program, the type of its result and what it is."""
        with np.errstate(all="ignore"):
            if self.random.random() < 0.7:
                term = self.term(self.random.choice((2, 3, 4)))
                return [f"y_{term.kind}[{number}, t] = {term.text}"], term.kind, term.value
            return self.loop(number)

    def loop(self, number):
        """Return a program that computes a variable several times, as hashes do."""
        name, kind = f"v{number}", self.random.choice(list(TYPES))
        start = self.converted(self.leaf(), kind)
        value = start.value
        state = self.random.getstate()
        for _ in range(3):
            self.random.setstate(state)
            self.names = {name: (kind, value)}
            step = self.term(3)
            value = step.value.astype(TYPES[kind])
        self.names = {}
        lines = [
            f"{name} = {start.text}",
            f"for k{number} in range(3):",
            f"    {name} = {step.text}",
        ]
        return [*lines, f"y_{kind}[{number}, t] = {name}"], kind, value


def module_text(programs, generator):
    """Return the text of a Python module with a kernel that runs programs, each in its own row."""
    count = len(programs)
    parameters = [f"{name}: {name[2:]}[{THREADS}]" for name in generator.inputs]
    parameters += [f"y_{kind}: {kind}[{count}, {THREADS}]" for kind in TYPES]
    parameters += [f"{name}: {name[2:]}" for name in generator.scalars]
    lines = [
        "import hidet",
        f"from hidet.lang import attrs, {', '.join(TYPES)}",
        "from hidet.lang.cuda import threadIdx",
        "with hidet.script_module() as module:",
        "    @hidet.script",
        f"    def programs({', '.join(parameters)}):",
        "        attrs.cuda.grid_dim = 1",
        f"        attrs.cuda.block_dim = {THREADS}",
        "        t = threadIdx.x",
        *(f"        {line}" for statements, _, _ in programs for line in statements),
    ]
    return "\n".join(lines) + "\n"
