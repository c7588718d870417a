"""A process that is killed with -9 in the middle of a save leaves the previous checkpoint."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from toy import ACTION_DIM, SMALL, SPEC, fingerprint

from serl_learner import checkpoint
from serl_learner.learner import LearnerConfig, agent_shapes

SAVE_TWICE = """
import os, sys, time
from pathlib import Path
from toy import fingerprint, small_learner
from serl_learner import checkpoint

def stop(*_, **__):
    print("there", flush=True)
    time.sleep(60)

learner = small_learner(seed=3)
print(fingerprint(learner.agent))
checkpoint.write(Path(sys.argv[1]), checkpoint.take(learner, 1, {}))
learner.blocks = 1
if sys.argv[2] == "arrays written, not yet renamed":
    os.rename = os.replace = stop
else:
    from orbax.checkpoint import JsonCheckpointHandler
    JsonCheckpointHandler.async_save = JsonCheckpointHandler.save = stop
checkpoint.write(Path(sys.argv[1]), checkpoint.take(learner, 1, {}))
"""


@pytest.mark.parametrize("moment", ["arrays written, not yet renamed", "only begun"])
def test_case07_kill_in_the_middle_of_a_save(tmp_path: Path, moment: str) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SAVE_TWICE, str(tmp_path), moment]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as saver:
        assert saver.stdout is not None
        saved = saver.stdout.readline().strip()
        assert saver.stdout.readline() == "there\n"
        saver.send_signal(signal.SIGKILL)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left[0] == "0"
    assert left[1].startswith("1.orbax-checkpoint-tmp")
    assert checkpoint.candidates(tmp_path) == [tmp_path / "0"]
    shapes = agent_shapes(LearnerConfig(SMALL), SPEC, ACTION_DIM)
    assert fingerprint(checkpoint.load_agent(tmp_path / "0", shapes)) == saved
