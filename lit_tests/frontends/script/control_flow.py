# RUN: hidet script %s --filecheck

"""Run-time branches and loops, and early exits."""

import hidet
from hidet.lang import attrs, f32, grid, i32
from hidet.lang import range as range_of_lang

with hidet.script_module() as module:
    # IR-LABEL:     cuda.kernel @branches
    # SOURCE-LABEL: branches(
    @hidet.script
    def branches(x: f32[8], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     %[[C:.*]] = arith.cmpi sgt, %n
        # IR:     scf.if %[[C]] {
        # SOURCE: if (n > 0) {
        if n > 0:
            x[0] = 1.0
        # IR:     } else {
        # IR:     arith.cmpi slt, %n
        # IR:     scf.if
        # SOURCE: } else if (n < -5) {
        elif n < -5:
            x[0] = 2.0
        else:
            # IR:     } else {
            # TASK:   arith.constant 3.{{0*}}e+00 : f32
            # SOURCE: } else {
            # SOURCE-NEXT: x[0] = 3.0f;
            x[0] = 3.0
        if n > 4:
            # IR:     %[[C:.*]] = arith.cmpi sle, %n
            # IR:     scf.if %[[C]] {
            # SOURCE: if (n <= 4) {
            pass
        else:
            x[1] = 0.0
        # A value that both sides assign becomes a result of the branch.
        # IR:     arith.cmpi eq
        # TASK:   %a = scf.if %{{.*}} -> (i32) {
        # CUDA:   %a = scf.if %{{.*}} -> (i32) {
        # FINAL:  scf.if
        # SOURCE: x[3] = hidet::cast<float>(n == 7 ? (x[2] > 0.0f ? 1 : 2) : hidet::cast<int>(hidet::cast<unsigned>(n) * n));
        if n == 7:
            a = 1 if x[2] > 0 else 2
        else:
            a = n * n
        x[3] = a
        # What comes after `if c: return` is the other side.
        # IR:     %[[C:.*]] = arith.cmpi sle, %n, %{{.*}} : i32
        # IR:     scf.if %[[C]] {
        # SOURCE: if (n <= 9) {
        if n > 9:
            # IR:     memref.store %{{.*}}, %x
            # SOURCE: x[4] = 1.0f;
            return
        x[4] = 1.0

    # IR-LABEL:     cuda.kernel @loops
    # SOURCE-LABEL: loops(
    @hidet.script
    def loops(x: f32[8], n: i32):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 1
        # IR:     scf.for %i = %{{.*}} to %{{.*}} step %{{.*}} {
        # SOURCE: for (int i = 0; i < 8; ++i) {
        for i in range(8):
            x[i] = 0.0
        # IR:     scf.for %j = %{{.*}} to %{{.*}} step %{{.*}} {
        # SOURCE: for (int j = 1; j < 7; j += 2) {
        for j in range_of_lang(1, 7, 2):
            # IR:     arith.cmpi ne, %j
            # IR:     scf.if
            # SOURCE: if (j != 3) {
            if j == 3:
                # IR:     memref.store
                # SOURCE: x[j] = 1.0f;
                continue
            x[j] = 1.0
        # IR:     %[[OK:.*]] = arith.cmpi slt, %n
        # IR:     cuda.assert %[[OK]], "{{.*}}control_flow.py:{{[0-9]+}}: n is small"
        # SOURCE: hidet::check({{.*}}, "{{.*}}control_flow.py:{{[0-9]+}}: n is small");
        assert n < 100, "n is small"
        # IR:          scf.for %a = %{{.*}} to %{{.*}} step %{{.*}} {
        # IR:            scf.for %b = %{{.*}} to %{{.*}} step %{{.*}} {
        # IR:          {cuda.unroll}
        # SOURCE:      for (int a = 0; a < 2; ++a) {
        # SOURCE:        hidet::copy_vector<float, 4>({{.*}}, &x[a * 4]);
        # SOURCE:        #pragma unroll
        # SOURCE-NEXT:   for (int b = 0; b < 4; ++b) {
        for a, b in grid(2, 4, attrs=".u"):
            x[a * 4 + b] += 1.0
        # IR:          memref.store %n, %k
        # SOURCE:      int k = n;
        k = n
        # IR:          scf.while
        # IR:          arith.cmpi sgt
        # IR:          scf.condition
        # SOURCE-NEXT: while (k > 1) {
        while k > 1:
            # TASK:        arith.floordivsi
            # SOURCE-NEXT: k = k >> 1;
            k //= 2
        # IR:     scf.for %c =
        # SOURCE: for (int c = 0; c < 8; ++c) {
        for c in range(8):
            # SOURCE-NEXT: if (x[c] > 5.0f) {
            if x[c] > 5:
                # TASK:        memref.store %{{.*}}, %running
                # CUDA:        memref.store %{{.*}}, %running
                # FINAL:       cuda.leave break
                # SOURCE-NEXT: break;
                break
            # SOURCE:      x[c] = 6.0f;
            x[c] = 6.0
