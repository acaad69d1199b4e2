"""The second signal ends a process at once, whatever it does, with all processes it started."""

from __future__ import annotations

import signal
import subprocess
import sys

import psutil
import pytest

from tests.support.services import takes_minutes

PATIENCE_S = 300.0
"""How long a machine with other work may take; it takes less than a second on others."""

STUCK = """
import hashlib, subprocess, sys
from orchestration import interrupts
interrupts.install()
child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
said = False
while True:
    try:
        if not said:
            said = True
            print(child.pid, flush=True)
        # No bytecode runs before it is done, in minutes.
        hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
    except KeyboardInterrupt:
        pass  # it came before the first of them
"""
FORKED = """
import os, signal, time
from orchestration import interrupts
interrupts.install()
child = os.fork()
if child == 0:
    try:
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt:
        os._exit(0)
os.waitpid(child, 0)
# The signal would be read by now.
time.sleep(0.2)
print(interrupts.received_signal())
"""
DROPPED = """
import signal, time, weakref
from orchestration import interrupts
interrupts.install()
class Locked: pass
lock = Locked()
# As the callback of the lock of each module that is imported.
reference = weakref.ref(lock, lambda _: signal.raise_signal(signal.SIGTERM))
try:
    del lock
    time.sleep(1000)
except KeyboardInterrupt:
    # A second signal would have ended the process by now.
    time.sleep(0.5)
    print("interrupted by", interrupts.received_signal().name)
"""


@takes_minutes
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_ends_what_cannot_be_interrupted(number: signal.Signals) -> None:
    with subprocess.Popen(
        # A shell may start a command with both ignored.
        ["env", "--ignore-signal", sys.executable, "-c", STUCK],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        child = psutil.Process(int(process.stdout.readline()))
        process.send_signal(number)
        said = process.stderr.readline()
        assert said == "cancelling; a second Ctrl-C ends the process at once\n"
        process.send_signal(number)
        assert process.wait(timeout=PATIENCE_S) == 128 + number
        assert process.stderr.read() == ""
    psutil.wait_procs([child], timeout=PATIENCE_S)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_a_signal_to_a_forked_process_is_not_one_to_its_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKED],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (0, "None\n"), done.stderr


def test_an_interrupt_that_python_drops_is_raised_again() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DROPPED],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted by SIGTERM\n", "")
