"""Hello world: four threads in two blocks print their ids."""

import hidet
from hidet.lang import attrs, printf
from hidet.lang.cuda import blockIdx, threadIdx


def build():
    """Build the kernel."""
    with hidet.script_module() as module:

        @hidet.script
        def hello():
            attrs.cuda.grid_dim = 2
            attrs.cuda.block_dim = 4
            printf("hello from thread %d of block %d\n", threadIdx.x, blockIdx.x)

    return module.build()


if __name__ == "__main__":
    hello = build()
    print(hello.source())
    hello()
