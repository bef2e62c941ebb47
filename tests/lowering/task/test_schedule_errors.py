"""What cannot be made a kernel of is refused, with the reason."""

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from hidet.dialects.compute import FusionOp
from hidet.errors import OptionError, PassError, ScheduleError
from hidet.lowering.blame import blame
from hidet.lowering.task.schedule import SchedulePass

GRID = """
    %e{name} = compute.grid (%i{name}) {{
      %v{name} = compute.load %x_[%i{name}] : tensor<{load}xf32>
      compute.yield %v{name} : f32
    }} : tensor<{size}xf32>"""


def fusion(sizes, config=""):
    """A fusion of a result of each size."""
    types = ", ".join(f"tensor<{size}xf32>" for size in sizes)
    results = ", ".join(f"%y{number}" for number in range(len(sizes)))
    grids = "".join(
        GRID.format(name=number, size=size, load=max(sizes)) for number, size in enumerate(sizes)
    )
    values = ", ".join(f"%e{number}" for number in range(len(sizes)))
    return f"""
func.func @forward(%x : tensor<{max(sizes)}xf32>) {{
  {results} = compute.fusion (%x_ = %x : tensor<{max(sizes)}xf32>) -> ({types}) {config} {{{grids}
    compute.yield {values} : {types}
  }}
  func.return
}}"""


def test_no_template_accepts(lower):
    """Results of several sizes that are no rows belong into several kernels."""
    with pytest.raises(ScheduleError, match="no template accepts the fusion") as raised:
        lower(fusion([4, 8]), "schedule")
    assert (
        raised.value.hint
        == "there are gemv, matmul, grouped, attention, backward, stencil, filters, segmented, "
        "row, transpose, elementwise"
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ('{template = "scan"}', "the template 'scan' of the config does not fit the fusion"),
        ('{template = "matmul"}', "the template 'matmul' of the config does not fit the fusion"),
        ('{template = "row"}', "the template 'row' of the config does not fit the fusion"),
        ('{template = "stencil"}', "the template 'stencil' of the config does not fit"),
        ("{threads = 4 : i64}", "names no template"),
        ('{template = "elementwise", threads = "many", vector = 1 : i64}', "threads .* no integer"),
        ('{template = "elementwise", threads = 64 : i64}', "does not have the parameters of"),
        ('{template = "elementwise", threads = 0 : i64, vector = 1 : i64}', "threads of .* is 0"),
        (
            '{template = "elementwise", threads = 1099511627776 : i64, vector = 1 : i64}',
            "is 109951",
        ),
    ],
)
def test_config_that_does_not_fit(lower, config, message):
    with pytest.raises(ScheduleError, match=message):
        lower(fusion([8], f"config {config}"), "schedule")


def test_matrix_that_lies_along_nothing(lower):
    """A config of `gemv` says along which dimension of the matrix there are vectors."""
    counts = ", ".join(f"{name} = 1 : i64" for name in ("vector", "lanes", "groups", "unroll"))
    config = f'{{template = "gemv", along = "m", {counts}, columns = 1 : i64}}'
    with pytest.raises(ScheduleError, match="not contiguous along 'm'"):
        lower(
            f"""
            func.func @forward(%x : tensor<1x8xf32>, %w : tensor<8x8xf32>) {{
              %y = compute.fusion (%x_ = %x : tensor<1x8xf32>, %w_ = %w : tensor<8x8xf32>)
                -> (tensor<1x8xf32>) config {config} {{
                %p = graph.matmul %x_, %w_
                  : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
                compute.yield %p : tensor<1x8xf32>
              }}
              func.return
            }}""",
            "schedule",
        )


def test_epilogue_that_cannot_be_inverted(lower):
    """Half of a product does not follow from each of its elements."""
    program = """
func.func @forward(%x : tensor<4x8xf32>, %w : tensor<8x6xf32>) {
  %y = compute.fusion (%a = %x : tensor<4x8xf32>, %b = %w : tensor<8x6xf32>) -> (tensor<2x6xf32>) {
    %p = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    %h = compute.grid (%i, %j) {
      %v = compute.load %p[%i, %j] : tensor<4x6xf32>
      compute.yield %v : f32
    } : tensor<2x6xf32>
    compute.yield %h : tensor<2x6xf32>
  }
  func.return
}"""
    with pytest.raises(ScheduleError, match="does not depend on a single element of"):
        lower(program, "schedule")


def test_unknown_machine(lower):
    module = lower(fusion([8]))
    with pytest.raises(OptionError, match="unknown architecture 'sm_1'") as raised:
        SchedulePass("sm_1").apply(None, module)
    assert "sm_90a" in raised.value.hint


def test_error_names_the_pass_and_the_line(lower):
    """In a pipeline the error also says which pass failed, and for which line of the model."""
    module = lower(fusion([4, 8]))
    (op,) = (op for op in module.walk() if isinstance(op, FusionOp))
    op.location = FileLineColLoc(StringAttr("model.py"), IntAttr(12), IntAttr(1))
    with pytest.raises(PassError, match="pass 'schedule' failed: no template") as raised:
        run_blamed(SchedulePass(), module)
    assert raised.value.where == "model.py:12"
    assert isinstance(raised.value.__cause__, ScheduleError)


def run_blamed(each, module):
    """Run a pass as a pipeline does."""
    with blame(each):
        each.apply(None, module)


def combine(tasks, block):
    """A kernel that combines a tile of a map."""
    return f"""
!tile = memref<4xf32, #task.map<{tasks}>, #cuda.space<register>>
cuda.kernel @combine() grid(2) block({block}) {{
  %t = cuda.thread_id x
  %r = memref.alloca() : !tile
  task.combine add %r on %t : !tile
}}"""


@pytest.mark.parametrize(
    ("tasks", "block", "message"),
    [
        ("spatial(4) * replicate(3)", 12, "must be powers of two"),
        ("replicate(2) * spatial(4) * replicate(3)", 24, "must be powers of two"),
        ("replicate(2) * spatial(4)", 4, "the owners of an element are in several blocks"),
    ],
)
def test_combine_over_owners_that_cannot_meet(lower, tasks, block, message):
    with pytest.raises(ScheduleError, match=message):
        lower(combine(tasks, block), "lower-task")


def test_views_are_loaded_and_stored_only(lower):
    """A view has no memory that another op could take."""
    grid = """
cuda.kernel @k(%x : memref<4xf32>) grid(1) block(1) {
  %g = compute.grid (%i) {
    %v = compute.load %x[%i] : memref<4xf32>
    compute.yield %v : f32
  } : tensor<4xf32>
  "test.op"(%g) : (tensor<4xf32>) -> ()
}"""
    with pytest.raises(ScheduleError, match=r"test\.op of a compute\.grid in a kernel"):
        lower(grid, "inline-compute")
    sink = """
cuda.kernel @k(%y : memref<4xf32>) grid(1) block(1) {
  %c0 = arith.constant 0 : index
  %g = compute.sink (%i, %v : f32) {
    compute.store %v, %y[%i] : memref<4xf32>
  } : tensor<4xf32>
  %v = compute.load %g[%c0] : tensor<4xf32>
}"""
    with pytest.raises(ScheduleError, match=r"compute\.load of a compute\.sink; only stores"):
        lower(sink, "inline-compute")


def test_register_tiles_are_loaded_and_stored_only(lower):
    """A register tile that another op takes cannot become an array of each thread."""
    program = """
!tile = memref<4xf32, #task.map<spatial(4)>, #cuda.space<register>>
cuda.kernel @k() grid(1) block(4) {
  %r = memref.alloca() : !tile
  "test.op"(%r) : (!tile) -> ()
}"""
    with pytest.raises(ScheduleError, match=r"test\.op cannot take a register tile"):
        lower(program, "lower-task")
