"""What may be set of the actor's node."""

from __future__ import annotations

from dataclasses import dataclass, field

from serl_actor.agreement import check_grasp, check_seen
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
        names, task = self.cameras.names, self.task
        check_seen(task.solved_by, self.simulated, names, self.job.kind, self.reward.source)
        check_grasp(task.gripper, self.agent.grasp.enabled)
