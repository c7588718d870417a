"""The actor as a node: the job in a thread of its own, over the robot's and learner's topics."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import rclpy
from rclpy.node import Node

from serl_actor.crew import ActorCrew
from serl_actor.environment import Environment
from serl_actor.hold_switch import HoldGate
from serl_actor.job import Cancelled, Job, JobFailed, Phase
from serl_actor.job_memory import JobMemory
from serl_actor.observer import observation_spec
from serl_actor.operator_keys import OperatorKeys
from serl_actor.policy_source import PolicySource
from serl_actor.ros_actor_config import ActorNodeConfig
from serl_actor.ros_board import RosBoard
from serl_actor.ros_evaluate import EvaluateServer
from serl_actor.ros_learner_link import SPILL_CODEC, LearnerLink
from serl_actor.ros_observation import ObservationPublisher
from serl_actor.ros_operator_keys import RosOperatorKeys
from serl_actor.ros_realtime_client import RealtimeClient
from serl_actor.ros_relabel import RelabelService
from serl_actor.ros_reward_judge import RosRewardJudge
from serl_actor.ros_robot import make_robot
from serl_actor.run_files import RunFiles
from serl_actor.transition_sender import SenderError
from serl_actor.veto_key import VetoKey
from serl_controllers.ros_executor import make_executor
from serl_controllers.ros_main import PATIENCE, begin
from serl_controllers.ros_parameters import (
    ParameterError,
    declare_from,
    keep_parameters,
    refuse_unknown,
)
from serl_learner.policy import Policy
from serl_learner.process_lock import AlreadyRunning

STOP_TIMEOUT = 1.5
"""Given to the job's thread to end [s]."""
SWITCH_INTERVAL = 5e-4
"""After which a thread that takes in messages lets the one that controls go on [s]; the
interpreter's 5 ms would show in the control period."""


class ActorNode(Node):
    """Wires the job to the topics; `start` begins it, `stop` ends it."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError, ValueError: a parameter is wrong; names it.
          AlreadyRunning: another actor of this name uses the run directory.
          OSError: a file of the run directory cannot be made.
        """
        super().__init__("actor", **kwargs)
        config = self._config = declare_from(self, ActorNodeConfig)
        refuse_unknown(self)
        keep_parameters(self)
        self._files = RunFiles(
            config.run_dir, config.actor_id, config.journal, config.sender, SPILL_CODEC
        )
        self._board = RosBoard(self)
        keys = OperatorKeys(VetoKey(config.robot.intervention_age))
        gate = HoldGate(keys.hold, self._board, 0.0)
        self._robot = make_robot(self, config, self._board.waiting, gate.held)
        self._environment = Environment(
            self._robot, config.task, cameras=config.cameras, veto=keys.veto
        )
        self._observations = ObservationPublisher(self, self._environment.frame_name)
        self._environment.judge = self._make_judge()
        spec = observation_spec(config.cameras, config.task)
        policy = Policy(spec, config.task.action_dim, config.agent)
        self._source = PolicySource(policy, time.monotonic)
        session = uuid.uuid4().bytes
        memory = JobMemory(Path(config.run_dir) if config.run_dir else None, self._source)
        self._link = self._make_link(session, memory)
        self._crew = self._make_crew(policy, session, memory, keys)
        RelabelService(self, self._crew.recorder)
        self._keys = RosOperatorKeys(self, keys, self._crew.recorder)
        self._evaluations = EvaluateServer(self)
        self._job = Job(config.job, self._crew, time.monotonic)
        self._board.add_metrics(self._measure)
        self._thread = threading.Thread(target=self._run, name="rollout", daemon=True)
        self.failure: BaseException | None = None

    def start(self) -> None:
        """Begins the job."""
        self._thread.start()

    def stop(self, spin: Callable[[], None]) -> bool:
        """Ends the job between two steps, holding the arm; false: it is still at work.

        `spin` serves callbacks for a moment: the step that is under way needs its answer.
        """
        self._board.cancel()
        deadline = time.monotonic() + STOP_TIMEOUT
        while time.monotonic() < deadline:
            spin()
            if not self._thread.is_alive() and not self._evaluations.ending:
                spin()
                break
        self._say_what_is_left()
        if self._thread.is_alive():
            self._environment.hold()  # it is stuck, e.g. compiling, and will not
        return not self._thread.is_alive()

    def destroy_node(self) -> None:
        """Also gives back the run directory."""
        self._files.close()
        super().destroy_node()

    def _say_what_is_left(self) -> None:
        sender = self._link.sender
        if sender.unacknowledged:
            self.get_logger().warning(
                f"{sender.unacknowledged} records are dropped that the learner has not said to "
                f"have stored; {sender.unreceived} of them have not arrived there"
            )

    def _make_link(self, session: bytes, memory: JobMemory) -> LearnerLink:
        return LearnerLink(
            self,
            self._config.actor_id,
            session,
            self._source,
            self._config.sender,
            self._files.spill,
            self._files.journal,
            memory.confirm_best,
        )

    def _make_judge(self) -> RosRewardJudge | None:
        config = self._config
        if config.reward.source == "sparse":
            return None
        waiting = self._board.waiting
        return RosRewardJudge(self, self._observations, config.reward, config.lockstep, waiting)

    def _make_crew(
        self, policy: Policy, session: bytes, memory: JobMemory, keys: OperatorKeys
    ) -> ActorCrew:
        config = self._config
        watched = self._environment.judge is None  # a judge sees every observation anyway
        return ActorCrew(
            self._environment,
            policy,
            self._source,
            self._link,
            self._board,
            session,
            config.actor_id,
            config.seed,
            config.lockstep,
            memory,
            watch=self._observations if watched else lambda observation, state: None,
            attend=self._attend,
            stack=config.agent.encoder.stack,
            labels=config.job.labels,
            judge_demonstrations=config.reward.demonstrations,
            keys=keys,
            notes=self._robot.notes if isinstance(self._robot, RealtimeClient) else dict,
            keep_failures=config.job.keep_failures,
        )

    def _wait_for_disk(self, what: str) -> None:
        self._board.waiting(what)
        self._board.pause()

    def _measure(self) -> dict[str, float | None]:
        """Metrics; None: not known yet."""
        sender, current, best = self._link.sender, self._source.current, self._job.training.best
        judge = self._environment.judge
        return {
            "policy_age": self._source.age(),
            "policy_version": None if current is None else current.version,
            "refused_params": self._source.refused,
            "unacknowledged": sender.unacknowledged,
            "unacknowledged_mb": 1e-6 * sender.memory_bytes,
            "spilled_mb": 1e-6 * sender.disk_bytes,
            "best_version": None if best is None else best.version,
            "best_kept": self._link.best.kept,
            "retransmitted": sender.retransmitted,
            "demonstrations": self._link.demonstrations,
            "refused_actions": self._environment.refused_actions,
            "camera_pauses": self._environment.pauses,
            "missing_estimates": judge.missing if isinstance(judge, RosRewardJudge) else None,
            "holds": self._keys.holds,
            "vetoes": self._keys.vetoes,
            "overruns": self._robot.overruns if isinstance(self._robot, RealtimeClient) else None,
        }

    def _attend(self) -> None:
        """Between two episodes of the job: a late veto, and evaluations that somebody asked for."""
        self._keys.settle()
        if self._evaluations.waiting:
            best = self._job.training.best or self._source.swap()
            self._evaluations.serve(best, self._crew.evaluated, self._crew.play)

    def _run(self) -> None:
        """The rollout's thread: the job, then evaluations on demand."""
        try:
            self._work()
            while True:
                self._board.pause()
                self._attend()
        except Cancelled:
            self._environment.hold()
        except Exception as error:
            self.failure = error
            self._environment.hold()
            raise
        finally:
            self._evaluations.refuse("the actor was stopped")

    def _work(self) -> None:
        """The job; its result is written before it is waited for the records to be stored."""
        result: dict[str, object] = {}
        try:
            result = self._job.run()
            self._environment.hold()
            self._files.write_result(result, self._wait_for_disk)
            self._crew.deliver()
        except Cancelled:
            raise
        except Exception as error:
            self._environment.hold()
            expected = isinstance(error, (JobFailed, SenderError))
            message = str(error) if expected or isinstance(error, OSError) else repr(error)
            if not expected:  # first: the process ends with it, even if the rest must be cancelled
                self.failure = error
            try:
                self._files.write_result({**result, "error": message}, self._wait_for_disk)
            except OSError as unwritable:
                self.get_logger().error(f"the result is not written: {unwritable}")
            self._board.status(Phase.FAILED, "", message)
            if not expected:
                raise
            return
        self._board.status(Phase.DONE, "", json.dumps(result))


def run() -> int:
    """Runs the node until it is told to stop or fails; the exit code."""
    stop = begin()
    try:
        node = ActorNode()
    except (AlreadyRunning, OSError, ParameterError, ValueError) as error:
        rclpy.try_shutdown()
        print(f"actor: {error}", file=sys.stderr)
        return 1
    executor = make_executor()
    executor.add_node(node)
    node.start()
    while not stop.is_set() and node.failure is None:
        executor.spin_once(timeout_sec=PATIENCE)
    if node.stop(lambda: executor.spin_once(timeout_sec=0.02)):
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown()
    return 0 if node.failure is None else 1


def main() -> None:
    """Entry point. Everything is closed by then; the interpreter's own way out waits for XLA:
    seconds, or for ever if it is compiling."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    code = run()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
