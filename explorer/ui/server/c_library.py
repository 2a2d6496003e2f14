"""How the C library keeps free memory, where it is glibc."""

from __future__ import annotations

import ctypes
from contextlib import suppress

#: Options of `mallopt`, by their numbers in malloc.h. Each thread would get an arena of its own,
#: whose free memory no other uses: two for all. Blocks of 1 MB and more, as of arrays, are mapped
#: by themselves and returned when they are freed; free memory at an arena's end is returned from
#: 1 MB on. (https://man7.org/linux/man-pages/man3/mallopt.3.html)
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_OPTIONS = {_M_ARENA_MAX: 2, _M_MMAP_THRESHOLD: 2**20, _M_TRIM_THRESHOLD: 2**20}


def is_glibc() -> bool:
    return _glibc() is not None


def limit_arenas() -> bool:
    """Have the library keep less free memory; whether it can. The sooner, the better."""
    library = _glibc()
    return library is not None and all(library.mallopt(*option) for option in _OPTIONS.items())


def return_free() -> None:
    """Return the pages that are free to the system."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    with suppress(OSError):
        library = ctypes.CDLL(None)
        if hasattr(library, "malloc_trim") and hasattr(library, "mallopt"):
            return library
    return None
