"""From kernels to machine code: the printer, the device header, the compilers, the cache."""
