"""The tuner: measures configs of fusions, and writes the best one down where `schedule` reads it.

    %y = compute.fusion (...) -> (...) config {template = "matmul", block_m = 128, ...} {

It stands outside of the passes: it takes a program of fusions, has candidates lowered and built in
other processes, measures them in one more, and gives each fusion its `config`.

- `problem`: a fusion as a program of its own, with all that decides over the best config;
- `space`: which configs are measured at first, and which are direct neighbours of one;
- `search`: the candidates of one problem, round by round;
- `tuner`: the searches of a program, and their winners;
- `winners`: what was found, on disk;
- `workers`: processes that others are started for, and that may die;
- `measuring`, `chain`, `agreement`: what runs in the process that has the device;
- `progress`, `report`: what is shown.

What lowers and builds candidates is the driver's (`hidet.driver.candidates`).
"""
