"""The rows of docs/results.md: what to run for each, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CLI = ("-m", "serl_franka_bringup.cli")
STATE = ("--observation", "state")
IN_PROCESS = ("-m", "serl_franka_bringup.in_process", *STATE)
BASELINES = ("-m", "serl_franka_bringup.baselines", *STATE)
RLPD = (*IN_PROCESS, "--max-steps", "3500", "--eval-every", "500")
VISION = ("-m", "serl_franka_bringup.in_process", "--observation", "image")
HIL = (*IN_PROCESS, "--max-steps", "3000", "--eval-every", "250", "--eval-episodes", "20")
PICK = (
    *("-m", "serl_franka_bringup.in_process", "--task", "pick", "--max-steps", "2500"),
    *("--eval-every", "500", "--eval-episodes", "20"),
)
SMALL = ("learner.agent.encoder.kind=small", "learner.utd_ratio=4", "learner.batch_size=64")
FOOLING = ("-m", "serl_franka_bringup.adversarial_check", "--picture", "{out}/reward_fooled.png")
PERIOD = ("-m", "serl_franka_bringup.period_report")


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
    "pcb-hil-none": Row(
        "as pcb-rlpd, evaluated more often: what the corrections of the next are compared with",
        HIL,
    ),
    "pcb-imitate": Row(
        "the same, and the policy is drawn towards the demonstrations", (*HIL, "--imitate")
    ),
    "pcb-hil": Row(
        "RLPD in one process, the scripted expert takes over when the policy drifts; imitated, too",
        (*HIL, "--interventions", "scripted", "--imitate"),
    ),
    "pcb-warm-start": Row(
        "RLPD in one process from a policy cloned from the same demonstrations, imitated on",
        (*HIL, "--warm-start"),
    ),
    "pcb-hil-warm-start": Row(
        "both: cloned, then corrected", (*HIL, "--warm-start", "--interventions", "scripted")
    ),
    "pcb-hg-dagger": Row(
        "HG-DAgger: from demonstrations and corrections alone, without rewards",
        (*HIL, "--learn", "hg_dagger", "--interventions", "scripted"),
    ),
    "pcb-random": Row("uniformly random actions", (*BASELINES, "random")),
    "pcb-down": Row("blind: straight down from the start", (*BASELINES, "down")),
    "pcb-expert": Row("the scripted expert", (*BASELINES, "expert")),
    "pcb-vision-ros": Row(
        "from two cameras, over ROS, as `./serl run pcb`: demonstrations, training, evaluation",
        (*CLI, "run", "pcb", "observation:=image", "--fresh", "--runs", "{scratch}"),
    ),
    "pcb-vision": Row("from two cameras in one process, with a learning curve; 4 crops", VISION),
    "pcb-vision-k1": Row(
        "the same with the plain frame only: no crop is cached",
        (*VISION, "--set", "learner.agent.encoder.crops=1"),
    ),
    "pcb-vision-k2": Row(
        "the same with 2 cached crops of each frame, the plain one among them",
        (*VISION, "--set", "learner.agent.encoder.crops=2"),
    ),
    "pcb-vision-blank": Row(
        "the same with the images blanked: a policy that cannot see the socket",
        (*VISION, "--set", "learner.agent.encoder.blank=true"),
    ),
    "pcb-vision-small": Row(
        "small network trained end to end; 1,000 steps, 4 critic updates of 64 a step",
        (*VISION, "--max-steps", "1000", "--set", *SMALL),
    ),
    "pcb-vision-classifier": Row(
        "rewarded by the task's reward classifier instead of the pose; it must have been trained",
        (*VISION, "--reward", "classifier"),
    ),
    "pcb-vision-vice": Row(
        "rewarded by VICE; frames must have been labelled", (*VISION, "--reward", "vice")
    ),
    "pcb-vision-bc": Row(
        "behaviour cloning of the same demonstrations from images",
        (*BASELINES[:2], "bc", "--observation", "image"),
    ),
    "pcb-vision-crops": Row(
        "cached crops against fresh ones in every batch, offline; [--updates N --crops K ...]",
        ("-m", "serl_franka_bringup.crops_comparison"),
        options=True,
    ),
    "pick": Row(
        "pick and place: the gripper's toggles are chosen by a grasp critic",
        PICK,
    ),
    "pick-binary": Row(
        "the same with the gripper as one more dimension of the Gaussian policy",
        (*PICK, "--set", "actor.task.gripper=binary"),
    ),
    "pcb-reward-adversarial": Row(
        "how often a policy that maximises the reward classifier's output fools it, before and "
        "after it was taught; with a picture; [--steps N ...]",
        (*FOOLING, "--model", "runs/pcb/rewards/classifier.model"),
        options=True,
    ),
    "pcb-realtime": Row(
        "control period in real time beside a busy learner, with a picture; [--minutes N ...]",
        (*PERIOD, "--picture", "{out}/period.png", "--runs", "{scratch}"),
        seeded=False,
        options=True,
    ),
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
