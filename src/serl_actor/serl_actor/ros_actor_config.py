"""What may be set of the actor's node."""

from __future__ import annotations

from dataclasses import dataclass, field

from serl_actor.camera_views import CamerasConfig
from serl_actor.job import JobConfig
from serl_actor.reset_motion import ResetMotionConfig
from serl_actor.reward_judge import RewardConfig
from serl_actor.ros_robot_client import RobotClientConfig
from serl_actor.task import TaskConfig
from serl_actor.transition_sender import SenderConfig
from serl_learner.agents.config import SACConfig


@dataclass(frozen=True)
class ActorNodeConfig:
    """Parameters of the node.

    Attributes:
      actor_id: stable name of this actor.
      seed: of starts, warm-up and sampled actions.
      simulated: the robot has a service reset_scene; a real arm moves to each start.
      lockstep: the robot is a simulator that waits for commands, so the actor waits for the
        learner's credit; a real arm never waits.
      run_dir: where result.json goes, what the job remembers, and records for which memory has
        no room; empty: nowhere.
      journal: file that gets a line for every record and relabel before it is sent, as a witness
        of its own; empty: none.
      cameras: what is seen beside the arm's state.
      motion: how a real arm goes to a start.
      reward: who says what a success is.
      agent: the learner's agent; what shapes the policy must agree.
    """

    actor_id: str = "actor"
    seed: int = 0
    simulated: bool = True
    lockstep: bool = True
    run_dir: str = ""
    journal: str = ""
    task: TaskConfig = field(default_factory=TaskConfig)
    job: JobConfig = field(default_factory=JobConfig)
    cameras: CamerasConfig = field(default_factory=CamerasConfig)
    robot: RobotClientConfig = field(default_factory=RobotClientConfig)
    motion: ResetMotionConfig = field(default_factory=ResetMotionConfig)
    sender: SenderConfig = field(default_factory=SenderConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    agent: SACConfig = field(default_factory=SACConfig)

    def __post_init__(self) -> None:
        if self.lockstep and not self.simulated:
            raise ValueError("lockstep is true and simulated is false: a real arm does not wait")
        task = self.task
        if task.solved_by_object and not self.simulated:
            self._check_seen()
        if self.agent.grasp.enabled != (task.gripper == "learned"):
            raise ValueError(
                f"agent.grasp.enabled is {self.agent.grasp.enabled} and task.gripper is "
                f"'{task.gripper}': a grasp critic goes with 'learned' alone"
            )

    def _check_seen(self) -> None:
        """Of an object that a real arm moves only pictures tell where it is."""
        lacks = ""
        if not self.cameras.names:
            lacks = "there are no cameras"
        elif self.job.kind != "label" and self.reward.source == "sparse":
            lacks = "reward.source is 'sparse', the pose"
        if lacks:
            raise ValueError(
                f"task.solved_by is 'object', simulated is false and {lacks}: nobody knows where "
                "the object is; expected cameras and reward.source 'classifier'"
            )
