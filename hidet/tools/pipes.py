"""Output that goes to a pipe whose reader has left, as in `hidet option | head`."""

import os
import sys


def leave_pipe() -> int:
    """Let what is still to be written go nowhere; return the exit status of a program cut short.

    Python writes out its buffers once more at exit, and would complain.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return 1
