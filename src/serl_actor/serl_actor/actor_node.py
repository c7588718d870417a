"""The actor as a node: the job in a thread of its own, over the robot's and learner's topics."""

from __future__ import annotations

import json
import sys
import threading
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from serl_actor.crew import ActorCrew
from serl_actor.environment import Environment
from serl_actor.job import Cancelled, Job, JobConfig, JobFailed, Phase
from serl_actor.job_memory import JobMemory
from serl_actor.policy_source import PolicySource
from serl_actor.ros_board import RosBoard
from serl_actor.ros_learner_link import LearnerLink
from serl_actor.ros_robot_client import RobotClientConfig, RosRobotClient
from serl_actor.task import TaskConfig
from serl_actor.transition_sender import SenderConfig, SenderError
from serl_controllers.ros_parameters import ParameterError, declare_from, refuse_unknown
from serl_learner.agents.sac import SACConfig
from serl_learner.policy import Policy
from serl_learner.types import ObservationSpec

STOP_TIMEOUT = 3.0
"""Given to the job's thread to end [s]."""


@dataclass(frozen=True)
class ActorNodeConfig:
    """Parameters of the node.

    Attributes:
      actor_id: stable name of this actor.
      seed: of starts, warm-up and sampled actions.
      lockstep: the robot is a simulator that waits for commands, so the actor waits for the
        learner's credit; a real arm never waits.
      run_dir: where result.json goes; empty: nowhere.
      agent: the learner's agent; what shapes the policy must agree.
    """

    actor_id: str = "actor"
    seed: int = 0
    lockstep: bool = True
    run_dir: str = ""
    task: TaskConfig = field(default_factory=TaskConfig)
    job: JobConfig = field(default_factory=JobConfig)
    robot: RobotClientConfig = field(default_factory=RobotClientConfig)
    sender: SenderConfig = field(default_factory=SenderConfig)
    agent: SACConfig = field(default_factory=SACConfig)


class ActorNode(Node):
    """Wires the job to the topics; `start` begins it, `stop` ends it."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError, ValueError: a parameter is wrong; names it.
        """
        super().__init__("actor", **kwargs)
        self._config = declare_from(self, ActorNodeConfig)
        refuse_unknown(self)
        config = self._config
        self._board = RosBoard(self)
        robot = RosRobotClient(self, config.robot, self._board.waiting)
        self._environment = Environment(robot, config.task)
        policy = Policy(_spec(self._environment), 6, config.agent)
        source = PolicySource(policy, time.monotonic)
        session = uuid.uuid4().bytes
        link = LearnerLink(self, config.actor_id, session, source, config.sender)
        self._board.watch(source, link)
        crew = ActorCrew(
            self._environment,
            policy,
            source,
            link,
            self._board,
            session,
            config.actor_id,
            config.seed,
            config.lockstep,
            JobMemory(Path(config.run_dir) if config.run_dir else None, source),
        )
        self._job = Job(config.job, crew, time.monotonic)
        self._thread = threading.Thread(target=self._run, name="rollout", daemon=True)

    def start(self) -> None:
        """Begins the job."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the job between two steps, holding the arm."""
        self._board.cancel()
        self._thread.join(STOP_TIMEOUT)

    def _run(self) -> None:
        try:
            result = self._job.run()
        except Cancelled:
            self._environment.hold()
            return
        except (JobFailed, SenderError) as error:
            self._environment.hold()
            self._finish(Phase.FAILED, {"error": str(error)}, str(error))
            return
        except Exception as error:
            self._environment.hold()
            self._finish(Phase.FAILED, {"error": repr(error)}, repr(error))
            raise
        self._environment.hold()
        self._finish(Phase.DONE, result, json.dumps(result))

    def _finish(self, phase: Phase, result: dict[str, object], detail: str) -> None:
        """Writes the result before saying so: who hears `done` may read the file."""
        if self._config.run_dir:
            path = Path(self._config.run_dir) / "result.json"
            part = path.with_suffix(".part")
            part.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
            part.replace(path)
        self._board.status(phase, "", detail)


def _spec(environment: Environment) -> ObservationSpec:
    spaces = environment.observation_space.spaces
    return {key: (tuple(space.shape), space.dtype.name) for key, space in sorted(spaces.items())}


def main() -> None:
    """Runs the node until it is interrupted."""
    rclpy.init()
    try:
        node = ActorNode()
    except (ParameterError, ValueError) as error:
        rclpy.try_shutdown()
        sys.exit(f"actor: {error}")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    node.start()
    try:
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    finally:
        node.stop()
        rclpy.try_shutdown()


if __name__ == "__main__":
    main()
