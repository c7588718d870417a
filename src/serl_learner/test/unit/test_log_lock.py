"""A log has one writer at a time, whatever became of the one before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from serl_learner.log_lock import LogBusy, LogLock

HOLD = (
    "import sys, time\n"
    "from pathlib import Path\n"
    "from serl_learner.log_lock import LogLock\n"
    "lock = LogLock(Path(sys.argv[1]))\n"
    "print('held', flush=True)\n"
    "time.sleep(60)\n"
)


def test_a_second_writer_is_refused_with_the_first_ones_process(tmp_path):
    lock = LogLock(tmp_path / "episodes")
    with pytest.raises(LogBusy, match=f"episodes .*process {os.getpid()}"):
        LogLock(tmp_path / "episodes")
    lock.close()
    LogLock(tmp_path / "episodes").close()


def test_a_killed_writer_leaves_the_log_free(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(LogBusy, match=f"process {holder.pid}"):
            LogLock(tmp_path)
        holder.send_signal(signal.SIGKILL)
    LogLock(tmp_path).close()
