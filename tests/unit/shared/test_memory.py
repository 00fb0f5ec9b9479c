"""Memory that large blocks took leaves the process with them."""

import subprocess
import sys

MIB = 1024 * 1024
KEPT_LIMIT = 16 * MIB
PASSING_ON = """
import resource, sys, threading
from pathlib import Path
from shared import memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

if sys.argv[1] == "asked":
    assert memory.return_large_blocks()
bytearray(20 * 1024 * 1024)  # glibc now keeps blocks of this size
before, going = resident(), threading.Barrier(4)

def pass_on():
    going.wait()  # each thread has a heap of its own
    block = bytes(19 * 1024 * 1024) + b"."
    going.wait()
    del block
    going.wait()

threads = [threading.Thread(target=pass_on) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
print(resident() - before)
"""


def kept(how: str) -> int:
    """Tell how many bytes a process keeps after four threads passed on 19 MiB each."""
    command = [sys.executable, "-c", PASSING_ON, how]
    return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)


def test_what_threads_took_for_large_blocks_is_given_back():
    """P27: a server that took hostile uploads must not stay grown by them. Left alone, glibc keeps it."""
    assert kept("asked") < KEPT_LIMIT < kept("left alone")


def test_what_is_there_after_start_up_is_out_of_the_search_for_garbage():
    asked = "import gc, asyncio; from shared import memory; memory.keep_what_is_there(); print(gc.get_freeze_count())"
    told = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert int(told.stdout) > 1_000
