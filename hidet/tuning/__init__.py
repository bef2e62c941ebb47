"""The tuner: measures configs of fusions, and sets the attribute `config` that `schedule` reads.

    %y = compute.fusion (...) -> (...) config {template = "matmul", block_m = 128, ...} {

Candidates are lowered and built in worker processes, and measured in another one.

- `problem`: a fusion as a separate program, and its cache key;
- `search`: the search for one problem: initial candidates and neighbors;
- `tuner`: the searches of a program, and their winners;
- `winners`: the database of winners;
- `workers`: worker processes;
- `measuring`: the measuring process.

`hidet.driver.tuning` lowers and builds candidates.
"""
