"""Another clock for a process, in all of its parts.

Nothing in the code tells the time but the operating system. So a run is given another clock by a
few lines of C, loaded before the C library.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += SHIFT;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (seconds != NULL) *seconds = precise.tv_sec;
    return precise.tv_sec;
}
"""


def clock_shifted(folder: Path, seconds: int) -> tuple[str, ...]:
    """What a command line begins with whose process lives so many seconds later."""
    source, library = folder / "clock.c", folder / f"clock{seconds}.so"
    if not library.exists():
        source.write_text(CLOCK)
        shift = f"-DSHIFT=({seconds})"
        subprocess.run(["cc", "-shared", "-fPIC", shift, "-o", library, source, "-ldl"], check=True)
    return ("env", f"LD_PRELOAD={library}")
