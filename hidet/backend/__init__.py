"""From kernels to machine code: the printer, the device header, the compilers, the cache."""

from hidet.absent import explain_missing

explain_missing(__name__)
