"""What a command takes in a process of its own: seconds, processor seconds, highest memory.

    python process.py COMMAND ...

Prints JSON; what the command prints goes to the standard error. It is small and imports nothing, since a process begins
with the highest memory of the one that started it, and children of a benchmark would begin with that of the benchmark.
"""

import os
import sys
import time


def main() -> int:
    """Run the command and say what it took; its exit code is ours."""
    name = sys.argv[1]
    begun = time.perf_counter()
    child = os.posix_spawn(name, sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, 2, 1)])
    _, status, used = os.wait4(child, 0)
    wall, cpu = time.perf_counter() - begun, used.ru_utime + used.ru_stime
    print(f'{{"wall": {wall}, "cpu": {cpu}, "peak": {used.ru_maxrss * 1024}}}')
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main())
