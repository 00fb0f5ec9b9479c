"""How this process hands memory back to the system."""

from __future__ import annotations

import ctypes
import gc
from typing import Final

LARGE: Final = 4 * 1024 * 1024
"""Blocks of so many bytes and more are handed back the moment they are freed. Ours to choose: most uploads are larger,
and what a search over some hundred thousand passages works with is smaller: new pages for that each time take longer
than the search (with 2 MiB here, arrays of 400,000 numbers of 8 bytes took 27 ms in place of 9).
"""
KEPT: Final = 4 * LARGE
"""The free end of the heap is handed back from here on; sooner, and work on arrays fetches its pages anew each time."""

HEAPS: Final = 2
"""Every heap keeps a free end of its own; left alone glibc makes up to eight for each core, one a thread."""

M_ARENA_MAX: Final = -8
M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3
"""Names of glibc's `<malloc.h>`; see mallopt(3)."""


def return_large_blocks() -> bool:
    """Make freed memory leave the process; tells whether the C library can be asked (glibc can, musl cannot).

    Left alone, glibc raises the size from which a block has pages of its own to that of the largest one freed so far,
    up to 32 MiB; smaller ones then come from a heap for each thread, whose free end stays, up to twice that. A few
    threads that each passed on one 20 MB upload kept 70 MB. Idempotent.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return False
    taken = [mallopt(*each) for each in ((M_MMAP_THRESHOLD, LARGE), (M_TRIM_THRESHOLD, KEPT), (M_ARENA_MAX, HEAPS))]
    return all(taken)


def keep_what_is_there() -> None:
    """Take what was made until now, which stays for the life of the process, out of every later search for garbage.

    After start-up that is some hundred thousand objects of imported code: looking through them takes a tenth of a
    second each time, in which nobody is answered.
    """
    gc.collect()
    gc.freeze()
