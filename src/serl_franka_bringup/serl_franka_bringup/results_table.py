"""The rows of docs/results.md: what to run for each, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CLI = ("-m", "serl_franka_bringup.cli")
STATE = ("--observation", "state")
IN_PROCESS = ("-m", "serl_franka_bringup.in_process", *STATE)
BASELINES = ("-m", "serl_franka_bringup.baselines", *STATE)
RLPD = (*IN_PROCESS, "--max-steps", "3500", "--eval-every", "500")


@dataclass(frozen=True)
class Row:
    """One measurement: a Python command line that takes `--seed` and `--json`.

    Attributes:
      command: `{scratch}` stands for a directory that is removed afterwards, `{out}` for the one
        where results go.
      seeded: there is a result for each seed.
      options: the command takes further options, which the user may give.
    """

    meaning: str
    command: tuple[str, ...]
    seeded: bool = True
    options: bool = False


ROWS: Mapping[str, Row] = {
    "pcb-ros": Row(
        "RLPD over ROS, as `./serl run pcb`: demonstrations, training, evaluation",
        (*CLI, "run", "pcb", "--state", "--fresh", "--runs", "{scratch}"),
    ),
    "pcb-rlpd": Row(
        "RLPD in one process, with a learning curve; 8 critic updates a step",
        RLPD,
    ),
    "pcb-utd4": Row(
        "the same with 4 critic updates a step", (*RLPD, "--set", "learner.utd_ratio=4")
    ),
    "pcb-utd1": Row(
        "the same with 1 critic update a step", (*RLPD, "--set", "learner.utd_ratio=1")
    ),
    "pcb-no-demonstrations": Row(
        "the same without demonstrations, after 300 random steps",
        (*RLPD, "--demos", "0", "--set", "actor.job.warm_up_steps=300"),
    ),
    "pcb-bc": Row(
        "behaviour cloning of the same demonstrations, trained to convergence",
        (*BASELINES, "bc"),
    ),
    "pcb-random": Row("uniformly random actions", (*BASELINES, "random")),
    "pcb-down": Row("blind: straight down from the start", (*BASELINES, "down")),
    "pcb-expert": Row("the scripted expert", (*BASELINES, "expert")),
    "kill-matrix": Row(
        "training while every node is killed again and again; [--kills N --kinds A,B ...]",
        ("-m", "serl_franka_bringup.kill_matrix"),
        options=True,
    ),
    "memory": Row(
        "memory of every process in a long training, with a picture; [--minutes N ...]",
        ("-m", "serl_franka_bringup.memory_soak", "--picture", "{out}/memory.png"),
        seeded=False,
        options=True,
    ),
    "bench-sim": Row("./serl bench sim", (*CLI, "bench", "sim"), seeded=False),
    "bench-learner": Row("./serl bench learner", (*CLI, "bench", "learner"), seeded=False),
}
