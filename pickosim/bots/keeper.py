"""Runs a program, and ends it with all its children when the process that wants it is gone.

    python keeper.py LIFELINE PROGRAM ARGUMENTS…

LIFELINE is one end of a pair of sockets. As soon as nobody holds the other end, however its process ended, the program
has a second to exit, since its input has ended, too; then it is killed. A byte through the lifeline kills it at once. How
the program ended is written to the lifeline. Then all processes that it has started are killed. On Linux that includes
those that have left its group and its parents: they become children of this process. Little is imported: this runs once
for every program that is started.
"""

import _thread
import ctypes
import os
import signal
import sys
import time

GRACE = 1.0
"""Seconds that a program has to exit when its input has ended."""

_PR_SET_CHILD_SUBREAPER = 36


def keep(lifeline: int, command: list[str]) -> None:
    """Run the command in a child, and wait for its end or for that of the lifeline."""
    # Whoever asks all processes to end, e.g. systemd, must not end this one before the program; a handler, unlike
    # SIG_IGN, is not passed on to the program.
    signal.signal(signal.SIGTERM, lambda number, frame: None)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
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
    _thread.start_new_thread(_watch, (lifeline, child))
    ended = 0
    while ended != child:
        ended, status = os.waitpid(-1, 0)
    try:
        os.write(lifeline, f"\n{_ended(os.waitstatus_to_exitcode(status))}".encode())
    finally:  # also if nobody wants to know
        try:
            _kill_children()
        finally:
            os.killpg(0, signal.SIGKILL)


def _watch(lifeline: int, child: int) -> None:
    try:
        hurry = os.read(lifeline, 1)
    except OSError:
        hurry = b""
    if not hurry:
        time.sleep(GRACE)
    os.kill(child, signal.SIGKILL)


def _kill_children() -> None:
    """Kill all children; the children of one that is killed become children of this process, and are next."""
    while children := _children():
        for child in children:
            os.kill(child, signal.SIGKILL)
        for _ in children:
            os.waitpid(-1, 0)


def _children() -> list[int]:
    """The processes whose parent is this one, where the system has a list of processes."""
    children = []
    every = os.listdir("/proc") if sys.platform == "linux" else ()  # noqa: PTH208
    for name in filter(str.isdigit, every):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                parent = file.read().rpartition(b")")[2].split()[1]
        except OSError:  # it has ended
            continue
        if int(parent) == os.getpid():
            children.append(int(name))
    return children


def _ended(code: int) -> str:
    return f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"


if __name__ == "__main__":
    keep(int(sys.argv[1]), sys.argv[2:])
