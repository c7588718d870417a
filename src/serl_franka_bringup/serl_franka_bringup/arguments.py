"""What a person may say about a run: `name:=value` on the command line."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

from serl_franka_bringup import gripper, operators, robots
from serl_franka_bringup.task import OBSERVATIONS

_NAMESPACE = re.compile(r"([A-Za-z]\w*(/[A-Za-z]\w*)*)?", re.ASCII)
ROLES = ("all", "robot", "learner", "arm")
JOBS = ("train", "record", "evaluate", "label")
DEVICES = ("none", *operators.DEVICES)
INTERVENTIONS = ("none", "scripted")
LEARN = ("rl", "hg_dagger")
REWARDS = ("sparse", "classifier", "vice")
PARTS = dict.fromkeys(JOBS, "") | {"evaluate": "evaluation"}  # folder of the run directory
_NOT_NEGATIVE = (
    "seed",
    "demos",
    "max_steps",
    "episodes",
    "minutes",
    "until",
    "positives",
    "negatives",
)


def _argument(default: Any, description: str) -> Any:
    return field(default=default, metadata={"description": description})


@dataclass(frozen=True)
class Arguments:
    """The arguments of a run, with their defaults.

    Further arguments named `<node>.<parameter>` override single parameters.
    """

    robot: str = _argument("sim", "sim: MuJoCo; fr3: the real arm")
    robot_ip: str = _argument("", "address of the real arm, e.g. 172.16.0.2")
    namespace: str = _argument("", "of all nodes of this robot; empty: none")
    gripper: str = _argument("franka", "of the real arm: none, franka or robotiq")
    cameras: bool = _argument(True, "the real arm has the cameras of cameras.yaml")
    hardware: str = _argument("franka", "behind robot:=fr3: franka, or mujoco or mock for trials")
    rviz: bool = _argument(False, "show robot, target, workspace box and who drives in rviz")
    device: str = _argument(
        "none", "of the person who demonstrates and corrects: none, spacemouse, gamepad or keyboard"
    )
    expert: bool | None = _argument(
        None, "the scripted expert demonstrates, in simulation; without: if there is no device"
    )
    interventions: str = _argument(
        "none", "scripted: in simulation the expert takes over when the policy drifts"
    )
    learn: str = _argument(
        "rl", "rl: from rewards; hg_dagger: from demonstrations and corrections alone"
    )
    warm_start: bool = _argument(False, "clone the demonstrations before anything else is learned")
    imitate: bool | None = _argument(
        None, "rl also draws the policy towards what people did; without: after a warm start"
    )
    seed: int = _argument(0, "of everything random")
    roles: str = _argument(
        "all", "which part this machine runs: all, robot, learner, or arm: drivers only"
    )
    job: str = _argument(
        "train",
        "train, record: demonstrations alone, evaluate, or label: frames for a reward classifier",
    )
    observation: str | None = _argument(
        None,
        "image: learn from the cameras and the arm's state, state: from the latter alone; without: "
        "the task's",
    )
    reward: str = _argument(
        "sparse",
        "which reward is learned from: sparse, the pose; classifier, the pictures; vice, the "
        "pictures, by a classifier that is trained meanwhile",
    )
    reward_model: str = _argument(
        "", "file of the reward classifier; empty: the task's, which ./serl train-reward wrote"
    )
    goals_dir: str = _argument(
        "", "labelled frames, the solved ones are vice's goals; empty: the task's"
    )
    positives: int | None = _argument(
        None, "frames to label that show the task solved; without: the actor's default"
    )
    negatives: int | None = _argument(None, "other frames to label; without: the actor's default")
    demos: int | None = _argument(
        None, "demonstrations to record when there are none; without: the task's"
    )
    demonstrations: str = _argument(
        "", "bags of demonstrations that a run learns from; empty: those of the task"
    )
    keep_failures: bool = _argument(False, "record demonstrations that fail, too")
    minutes: float | None = _argument(None, "stop training after this wall time")
    until: float | None = _argument(None, "stop training at this success of the last 20, 0 .. 1")
    max_steps: int | None = _argument(None, "stop training after so many environment steps")
    episodes: int | None = _argument(
        None, "evaluation episodes per policy; without: the actor's default"
    )
    run_dir: str = _argument("", "where checkpoints and logs go; empty: below runs")
    demonstrations_dir: str = _argument("", "where demonstrations are kept; empty: below runs")
    video_dir: str = _argument("", "where films of evaluated episodes go; empty: none are made")

    def __post_init__(self) -> None:
        choices = {
            "robot": robots.ROBOTS,
            "gripper": gripper.KINDS,
            "hardware": robots.HARDWARE,
            "device": DEVICES,
            "interventions": INTERVENTIONS,
            "learn": LEARN,
            "roles": ROLES,
            "job": JOBS,
            "reward": REWARDS,
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} '{getattr(self, name)}' is not {' or '.join(allowed)}")
        if self.observation is not None and self.observation not in OBSERVATIONS:
            known = " or ".join(OBSERVATIONS)
            raise ValueError(f"observation '{self.observation}' is not {known}")
        for name in _NOT_NEGATIVE:
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ValueError(f"{name} {value} is below 0")
        if self.until is not None and self.until > 1:
            raise ValueError(f"until {self.until} is above 1: it is a success rate")
        if self.robot == "fr3" and self.hardware == "franka" and not self.robot_ip:
            raise ValueError("robot 'fr3' needs robot_ip, e.g. robot_ip:=172.16.0.2")
        if self.robot == "sim" and self.robot_ip:
            raise ValueError(f"robot_ip '{self.robot_ip}' is given for robot 'sim'; robot:=fr3?")
        if self.warm_start and self.demos == 0:
            raise ValueError("warm_start needs demonstrations, but demos is 0")
        if self.corrected and (self.robot != "sim" or self.expert is False):
            raise ValueError("interventions 'scripted' needs robot:=sim with its scripted expert")
        if not _NAMESPACE.fullmatch(self.namespace):
            raise ValueError(f"namespace '{self.namespace}' is not of letters, digits and _")
        if self.video_dir and self.job != "evaluate":
            raise ValueError(f"video_dir '{self.video_dir}': only evaluations are filmed")

    @property
    def judged(self) -> bool:
        """A reward classifier says what a success is."""
        return self.reward != "sparse" and self.job != "label"

    @property
    def by_vice(self) -> bool:
        """The learner trains that classifier."""
        return self.reward == "vice" and self.job == "train"

    @property
    def corrected(self) -> bool:
        """The scripted expert takes over from the policy."""
        return self.interventions == "scripted"

    @property
    def part(self) -> str:
        """Folder of the run directory that the job writes to."""
        return PARTS[self.job]


def argument_names() -> list[str]:
    """Names of the arguments of a run."""
    return [f.name for f in dataclasses.fields(Arguments)]
