# RUN: hidet script %s --filecheck

"""Hopper: mbarriers, TMA, wgmma and warp specialization."""

import hidet
from hidet.lang import attrs, f16, f32, i32, i64, register_tensor, shared_tensor
from hidet.lang.cuda import (
    barrier_arrive,
    barrier_sync,
    block_rank_in_cluster,
    blockIdx,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    clusterDim,
    clusterIdx,
    clusterRelativeBlockIdx,
    cp_async_barrier_arrive,
    fence_mbarrier_init,
    fence_proxy_async,
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
    map_shared_rank,
    matrix_descriptor,
    mbarrier_arrive,
    mbarrier_arrive_and_expect_tx,
    mbarrier_init,
    mbarrier_invalidate,
    mbarrier_wait,
    setmaxnreg,
    syncthreads,
    tensor_map,
    threadIdx,
    tma_commit_group,
    tma_load,
    tma_store,
    tma_wait_group,
    wgmma_accumulator,
    wgmma_async,
    wgmma_commit_group,
    wgmma_fence,
    wgmma_fence_operand,
    wgmma_wait_group,
)

with hidet.script_module() as module:
    # A tensor map is a parameter, marked where its tensor is only read. Its coordinates are in the
    # order of the dimensions; the instruction takes the fastest one first.

    # TASK-LABEL:   cuda.kernel @copy(%a : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %b : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>)
    # CUDA-LABEL:   cuda.kernel @copy(%a : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>, %b : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>)
    # FINAL-LABEL:  cuda.kernel @copy(%a : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128> {cuda.readonly}, %b : !cuda.tensor_map<tensor<128x64xf16>, box [64, 64], swizzle 128>)
    # SOURCE-LABEL: copy(
    # SOURCE-NEXT:  const __grid_constant__ hidet::TensorMap a,
    # SOURCE-NEXT:  const __grid_constant__ hidet::TensorMap b) {
    @hidet.script
    def copy(
        a: tensor_map(f16[128, 64], box=(64, 64), swizzle=128),
        b: tensor_map(f16[128, 64], box=(64, 64), swizzle=128),
    ):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 32
        box = shared_tensor("float16", [64, 64])
        full = shared_tensor("uint64", [2])
        # SOURCE: __shared__ __align__(1024) hidet::half box[64][64];
        # SOURCE: __shared__ __align__(8) unsigned long long full[2];
        if threadIdx.x == 0:
            # IR:     cuda.mbarrier_init %full[%{{.*}}] count %{{.*}} : memref<2xi64, #cuda.space<shared>>
            # SOURCE: hidet::mbarrier_init(&full[1], 1);
            mbarrier_init(~full[1], 1)
            # IR:     cuda.fence_mbarrier_init
            # SOURCE: hidet::fence_mbarrier_init();
            fence_mbarrier_init()
            # IR:     cuda.mbarrier_arrive_expect_tx %full[%{{.*}}] bytes %{{.*}} :
            # SOURCE: hidet::mbarrier_arrive_expect_tx(&full[1], 8192);
            mbarrier_arrive_and_expect_tx(~full[1], 8192)
            # IR:     cuda.tma_load %a(%{{.*}}, %{{.*}}) to %box[%{{.*}}, %{{.*}}] barrier %full[%{{.*}}] :
            # SOURCE: hidet::tma_load(&box[0][0], &full[1], a, 0, 64);
            tma_load(box, a, (64, 0), ~full[1])
        syncthreads()
        # IR:     cuda.mbarrier_wait %full[%{{.*}}] parity %{{.*}} :
        # SOURCE: hidet::mbarrier_wait(&full[1], 0);
        mbarrier_wait(~full[1], 0)
        # IR:     cuda.mbarrier_arrive %full[%{{.*}}] :
        # SOURCE: hidet::mbarrier_arrive(full);
        mbarrier_arrive(~full[0])
        # IR:     cuda.cp_async_barrier_arrive %full[%{{.*}}] :
        # SOURCE: hidet::cp_async_barrier_arrive(full);
        cp_async_barrier_arrive(~full[0])
        # IR:     cuda.mbarrier_invalidate %full[%{{.*}}] :
        # SOURCE: hidet::mbarrier_invalidate(full);
        mbarrier_invalidate(~full[0])
        # IR:     cuda.fence_proxy_async
        # SOURCE: hidet::fence_proxy_async();
        fence_proxy_async()
        if threadIdx.x == 0:
            # IR:     cuda.tma_store %box[%{{.*}}, %{{.*}}] to %b(%{{.*}}, %{{.*}}) :
            # SOURCE: hidet::tma_store(&box[0][0], b, 0, 64);
            tma_store(b, (64, 0), ~box[0, 0])
            # IR:     cuda.tma_commit
            # SOURCE: hidet::tma_commit();
            tma_commit_group()
            # IR:     cuda.tma_wait 0
            # SOURCE: hidet::tma_wait<0>();
            tma_wait_group(0)

    # wgmma: a wait for all of them fences the accumulators.

    # IR-LABEL:     cuda.kernel @product
    # SOURCE-LABEL: product(
    @hidet.script
    def product(out: f32[128, 64]):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        a = shared_tensor("float16", [64, 64])
        b = shared_tensor("float16", [128, 64])
        acc = register_tensor("float32", [64])
        # IR:     cuda.wgmma_fence
        # SOURCE: hidet::wgmma_fence();
        wgmma_fence()
        # IR:     %desc_a = cuda.matrix_descriptor %a[%{{.*}}, %{{.*}}] leading 16 stride 1024 swizzle 128 :
        # SOURCE: const unsigned long long desc_a = hidet::matrix_descriptor<16, 1024, 128>(&a[0][16]);
        desc_a = matrix_descriptor(~a[0, 16])
        desc_b = matrix_descriptor(b, swizzle=128, stride=1024, leading=16)
        # IR:     cuda.wgmma "m64n128k16_f16_f32" %desc_a, %desc_b, %acc[%{{.*}}] accumulate %{{.*}} : memref<64xf32, #cuda.space<local>>
        # SOURCE: hidet::wgmma_m64n128k16_f16_f32<0, 0>(acc, desc_a, desc_b, false);
        wgmma_async("m64n128k16_f16_f32", desc_a, acc, desc_b, scale_d=False)
        # IR:     cuda.wgmma "m64n128k16_f16_f32" %{{.*}} trans_a, %{{.*}} trans_b, %acc
        # SOURCE: hidet::wgmma_m64n128k16_f16_f32<1, 1>(acc, desc_a + 2LL, desc_b, true);
        wgmma_async("m64n128k16_f16_f32", desc_a + 2, ~acc[0], desc_b, trans_a=True, trans_b=True)
        # IR:     cuda.wgmma_commit
        # SOURCE: hidet::wgmma_commit();
        wgmma_commit_group()
        # IR:     cuda.wgmma_wait 1
        # SOURCE: hidet::wgmma_wait<1>();
        wgmma_wait_group(1)
        # IR:     cuda.wgmma_fence_operand %acc[%{{.*}}] count 64 :
        # SOURCE: hidet::wgmma_fence_operand<64>(acc);
        wgmma_fence_operand(acc)
        # IR:     cuda.wgmma_wait 0
        # IR:     cuda.wgmma_fence_operand %acc[%{{.*}}] count 64 :
        # SOURCE: hidet::wgmma_wait<0>();
        # SOURCE: hidet::wgmma_fence_operand<64>(acc);
        wgmma_wait_group(0)
        for j in range(64):
            out[threadIdx.x, j] = acc[j]

    # A tile over the threads of the warp group, whose layout is that of the instruction.

    # IR-LABEL:     cuda.kernel @tile
    # SOURCE-LABEL: tile(
    @hidet.script
    def tile(out: f32[64, 16], desc: i64):
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 128
        # TASK:   %acc = memref.alloca() : memref<64x16xf32, #m0, #cuda.space<register>>
        # CUDA:   %acc = memref.alloca() : memref<8xf32, #cuda.space<local>>
        # FINAL:  %acc = memref.alloca() : memref<8xf32, #cuda.space<local>>
        # SOURCE: float acc[8];
        acc = register_tensor("float32", layout=wgmma_accumulator(16))
        # TASK:   cuda.wgmma "m64n16k16_f16_f32" %desc, %desc, %acc[%{{.*}}, %{{.*}}] accumulate
        # CUDA:   cuda.wgmma "m64n16k16_f16_f32" %desc, %desc, %acc[%{{.*}}] accumulate
        # FINAL:  cuda.wgmma "m64n16k16_f16_f32" %desc, %desc, %acc[%{{.*}}] accumulate
        # SOURCE: hidet::wgmma_m64n16k16_f16_f32<0, 0>(acc, desc, desc, true);
        wgmma_async("m64n16k16_f16_f32", desc, acc, desc)
        # TASK:   cuda.wgmma_fence_operand %acc[%{{.*}}, %{{.*}}] count 8 :
        # CUDA:   cuda.wgmma_fence_operand %acc[%{{.*}}] count 8 :
        # FINAL:  cuda.wgmma_fence_operand %acc[%{{.*}}] count 8 :
        # SOURCE: hidet::wgmma_fence_operand<8>(acc);
        wgmma_wait_group(0)
        # TASK:   task.foreach (%i, %j) in #m0 on %tid {
        # CUDA:   memref.load %acc
        # FINAL:  memref.load %acc
        # SOURCE: = acc[i * 4 + j * 2 + k];
        for i, j in wgmma_accumulator(16).on(threadIdx.x):
            out[i, j] = acc[i, j]

    # IR-LABEL:     cuda.kernel @roles
    # SOURCE-LABEL: roles(
    @hidet.script
    def roles():
        attrs.cuda.grid_dim = 1
        attrs.cuda.block_dim = 256
        attrs.cuda.min_blocks = 1
        # IR:     cuda.grid_dependency_wait
        # SOURCE: hidet::grid_dependency_wait();
        griddepcontrol_wait()
        if threadIdx.x // 128 == 0:
            # IR:     cuda.setmaxnreg "dec" 40
            # SOURCE: hidet::setmaxnreg_dec<40>();
            setmaxnreg(40, "dec")
            # IR:     cuda.barrier_arrive %{{.*}} count 256
            # SOURCE: hidet::barrier_arrive<256>(1);
            barrier_arrive(1, 256)
        else:
            # IR:     cuda.setmaxnreg "inc" 232
            # SOURCE: hidet::setmaxnreg_inc<232>();
            setmaxnreg(232, "inc")
            # IR:     cuda.barrier_sync %{{.*}} count 256
            # SOURCE: hidet::barrier_sync<256>(1);
            barrier_sync(1)
        # IR:     cuda.launch_dependents
        # SOURCE: hidet::launch_dependents();
        griddepcontrol_launch_dependents()

    # A cluster of blocks along x. Its shared memory has fixed offsets, whatever its size.

    # IR-LABEL:     cuda.kernel @cluster
    # TASK-SAME:    cuda.cluster = array<i64: 2, 1, 1>
    # FINAL-SAME:   cuda.cluster = array<i64: 2, 1, 1>
    # SOURCE-LABEL: extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(32) cluster(
    @hidet.script
    def cluster(a: tensor_map(f16[64, 64], box=(8, 64)), out: i32[4]):
        attrs.cuda.grid_dim = 4
        attrs.cuda.block_dim = 32
        # IR-NOT:     a cluster is an attribute of the kernel
        # SOURCE-NOT: and no statement
        attrs.cuda.cluster_dim = 2
        # TASK:   %box = memref.alloca() : memref<8x64xf16, #cuda.space<shared>>
        # CUDA:   %box = memref.alloca() : memref<8x64xf16, #cuda.space<shared>>
        # FINAL:  %box = cuda.dynamic_shared offset 0 : memref<8x64xf16, #cuda.space<shared>>
        # SOURCE: auto& box = hidet::dynamic_shared<hidet::half[8][64]>(0);
        box = shared_tensor("float16", [8, 64])
        full = shared_tensor("uint64", [1])
        # IR:     cuda.cluster_arrive
        # SOURCE: hidet::cluster_arrive();
        cluster_arrive()
        # IR:     cuda.cluster_wait
        # SOURCE: hidet::cluster_wait();
        cluster_wait()
        # IR:     cuda.tma_load %a(%{{.*}}, %{{.*}}) to %box[%{{.*}}, %{{.*}}] barrier %full[%{{.*}}] blocks %{{.*}} :
        # SOURCE: hidet::tma_load_multicast(&box[0][0], full, a, 3, 0, 0);
        tma_load(box, a, (0, 0), full, multicast=3)
        # IR:     cuda.mbarrier_arrive_cluster %full[%{{.*}}] block %{{.*}} :
        # SOURCE: hidet::mbarrier_arrive_cluster(full, 1);
        mbarrier_arrive(full, 1)
        # IR:     %peer = cuda.map_shared_rank %box, %{{.*}} : memref<8x64xf16, #cuda.space<shared>>
        # SOURCE: auto& peer = hidet::map_shared_rank(box, 1);
        # SOURCE: peer[0][0] = hidet::cast<hidet::half>(0.0f);
        peer = map_shared_rank(box, 1)
        peer[0, 0] = 0.0
        # TASK:   cuda.floormodsi
        # CUDA:   cuda.floormodsi
        # FINAL:  arith.remsi
        # SOURCE: out[bid] = bid % 2;
        out[blockIdx.x] = block_rank_in_cluster()
        # IR:     cuda.cluster_arrive
        # IR:     cuda.cluster_wait
        # SOURCE: hidet::cluster_arrive();
        # SOURCE: hidet::cluster_wait();
        cluster_sync()

    # A cluster of blocks along x, y and z.

    # IR-LABEL:     cuda.kernel @cube
    # IR-SAME:      cuda.cluster = array<i64: 2, 1, 4>
    # SOURCE-LABEL: void __cluster_dims__(2, 1, 4) __launch_bounds__(32) cube(
    @hidet.script
    def cube(out: i32[8]):
        attrs.cuda.grid_dim = 4, 3, 8
        attrs.cuda.block_dim = 32
        attrs.cuda.cluster_dim = 2, 1, 4
        # IR:     cuda.block_id
        # SOURCE: out[0] = bz_mod4 * 2 + bx % 2;
        out[0] = block_rank_in_cluster()
        # IR:     arith.{{(floor)?}}divsi
        # SOURCE: out[1] = bx / 2;
        out[1] = clusterIdx.x
        # IR:     memref.store
        # SOURCE: out[2] = by;
        out[2] = clusterIdx.y
        # IR:     memref.store
        # SOURCE: out[3] = bz_mod4;
        out[3] = clusterRelativeBlockIdx.z
        # IR:     memref.store
        # SOURCE: out[4] = 0;
        out[4] = clusterRelativeBlockIdx.y
        # IR:     arith.constant 4 : i32
        # SOURCE: out[5] = 4;
        out[5] = clusterDim.z

    # SOURCE: HIDET_CLUSTER_KERNEL(cube, 32, 1, 1, 2, 1, 4)
