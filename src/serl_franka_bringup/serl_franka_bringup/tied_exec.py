"""Runs a program that dies when its parent dies.

`python -S tied_exec.py PARENT_PID PROGRAM ARGS...` asks the kernel to kill this process with
its parent (PR_SET_PDEATHSIG survives exec) and becomes PROGRAM, which SIGINT interrupts again
where a shell's background job made its children ignore it. Kept free of imports of this
package so that it starts in milliseconds, and a program of its own because code between fork
and exec is unsafe in a process with threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def prefix() -> list[str]:
    """What goes before PROGRAM on the command line of what is to die with this process."""
    return [sys.executable, "-S", __file__, str(os.getpid())]


def main() -> None:
    """Ties, then execs; exits with 127 when the program cannot be run."""
    parent = int(sys.argv[1])
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        sys.exit(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.execv(sys.argv[2], sys.argv[2:])
    except OSError as error:
        print(f"cannot run {sys.argv[2]}: {error}", file=sys.stderr)
        sys.exit(127)


if __name__ == "__main__":
    main()
