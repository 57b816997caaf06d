"""Runs a program, and ends it with all its children when the process that wants it is gone.

    python keeper.py LIFELINE PROGRAM ARGUMENTS…

LIFELINE is one end of a pair of sockets. As soon as nobody holds the other end, however its process ended, the program
has a second to exit, since its input has ended, too; then its whole process group is killed. A byte through the lifeline
kills it at once. How the program ended is written to the lifeline. Nothing but Python's built-in modules is imported:
this runs once for every program that is started.
"""

import _thread
import os
import signal
import sys
import time

GRACE = 1.0
"""Seconds that a program has to exit when its input has ended."""


def keep(lifeline: int, command: list[str]) -> None:
    """Run the command in a child, and wait for its end or for that of the lifeline."""
    # Whoever asks all processes to end, e.g. systemd, must not end this one before the program; a handler, unlike
    # SIG_IGN, is not passed on to the program.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    child = os.fork()
    if child == 0:
        os.set_inheritable(lifeline, False)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(lifeline, f"cannot be started: {error.strerror}".encode())
        os._exit(127)
    # Only the program holds its ends of the pipes: when it exits, they are closed.
    os.close(0)
    os.close(1)
    _thread.start_new_thread(_watch, (lifeline,))
    _, status = os.waitpid(child, 0)
    try:
        os.write(lifeline, f"\n{_ended(os.waitstatus_to_exitcode(status))}".encode())
    finally:  # also if nobody wants to know
        os.killpg(0, signal.SIGKILL)


def _watch(lifeline: int) -> None:
    try:
        hurry = os.read(lifeline, 1)
    except OSError:
        hurry = b""
    if not hurry:
        time.sleep(GRACE)
    os.killpg(0, signal.SIGKILL)


def _ended(code: int) -> str:
    return f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"


if __name__ == "__main__":
    keep(int(sys.argv[1]), sys.argv[2:])
