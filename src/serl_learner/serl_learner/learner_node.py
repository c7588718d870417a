"""The learner as a node: transitions in, acknowledgements and policy parameters out."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future

from serl_controllers.ros_main import PATIENCE, begin
from serl_controllers.ros_parameters import (
    ParameterError,
    declare_from,
    keep_parameters,
    refuse_unknown,
)
from serl_controllers.ros_qos import TRANSITIONS
from serl_controllers.ros_status import StatusPublisher
from serl_interfaces.msg import Relabel, Transition
from serl_interfaces.srv import GetPolicyParams, SaveCheckpoint
from serl_learner.checkpoint import CheckpointError
from serl_learner.disk_space import DiskSpace
from serl_learner.episode_log import LogConfig
from serl_learner.episode_store import EpisodeStore
from serl_learner.episodes import EpisodeError
from serl_learner.learner import LearnerConfig
from serl_learner.learner_report import lacking, phase
from serl_learner.learner_session import BEST_POLICY, LearnerSession, SessionConfig
from serl_learner.log_lock import LogLock
from serl_learner.params_codec import ParamsError, read_params
from serl_learner.priority import give_way, spare_cores
from serl_learner.rewards.frames import BadFrames
from serl_learner.rewards.goals import Goals, load_goals
from serl_learner.ros_learner_worker import LearnerWorker
from serl_learner.ros_log import COMPRESSIONS, encode_episode, read_episode
from serl_learner.ros_params import params_to_msg
from serl_learner.vision.weights import WeightsError

WATCH_PERIOD = 0.5
"""Between two looks at what is waited for [s]."""
SILENCE = 3.0
"""An actor that sends nothing for so long is waited for [s]."""
STOP_LIMIT = 1.5
"""What the worker gets to finish when the node is asked to stop [s]."""
LAST_WORDS = 2.0
"""What a learner that failed gets to be discovered and heard before its process ends [s]."""


@dataclass(frozen=True)
class NodeConfig:
    """Where the node keeps things, and computes; an empty path keeps nothing.

    Attributes:
      demonstrations_dir: successful demonstrations, shared by all runs of a task.
      log_dir: all other episodes.
      checkpoint_dir: checkpoints, and the best policy.
      features_dir: what a frozen network makes of logged images, a file per episode: a restart
        reads it instead. Without it everything is encoded again.
      checkpoint_every_s: between two checkpoints [s]; what a kill makes the learner do again.
      compression: of the log's files: "zstd", "lz4" or "none".
      goals_dir: labelled frames, of which VICE takes the solved ones for goals.
      spare_cores: so many cores of this machine are left to what controls a robot in real time.
      serve_checkpoint: a file written by `save_checkpoint` with the tag "best", or its directory:
        gives out that policy and learns nothing.
    """

    demonstrations_dir: str = ""
    log_dir: str = ""
    checkpoint_dir: str = ""
    features_dir: str = ""
    checkpoint_every_s: float = 15.0
    compression: str = "zstd"
    goals_dir: str = ""
    spare_cores: int = 0
    serve_checkpoint: str = ""

    def __post_init__(self) -> None:
        if not self.checkpoint_every_s > 0.0:
            raise ValueError(f"checkpoint_every_s {self.checkpoint_every_s} is not above 0")
        if self.spare_cores < 0:
            raise ValueError(f"spare_cores {self.spare_cores} is below 0")
        if self.compression not in COMPRESSIONS:
            raise ValueError(f"compression {self.compression!r} is none of {[*COMPRESSIONS]}")


class LearnerNode(Node):
    """Callbacks hand messages to a worker, which has a thread of its own."""

    def __init__(self, **kwargs: object) -> None:
        """`kwargs` go to rclpy's Node.

        Raises:
          ParameterError, ParamsError, EpisodeError, OSError: a parameter or the file it names is
            wrong, or another learner writes to the log.
        """
        super().__init__("learner", **kwargs)
        config = declare_from(self, LearnerConfig)
        session = declare_from(self, SessionConfig)
        log = declare_from(self, LogConfig)
        self._config = declare_from(self, NodeConfig)
        refuse_unknown(self)
        keep_parameters(self)
        if self._config.spare_cores:
            spare_cores(self._config.spare_cores)
        store = self._make_store(log)
        self._lock = LogLock(store.log) if store.log is not None else None
        checkpoints = _path(self._config.checkpoint_dir)
        features = _path(self._config.features_dir)
        self._session = LearnerSession(config, session, store, checkpoints, log, features=features)
        if self._config.serve_checkpoint:
            path = Path(self._config.serve_checkpoint)
            self._session.serve(read_params(path / BEST_POLICY if path.is_dir() else path))
        self._last_heard: float | None = None
        self._status = StatusPublisher(self)
        every, goals = self._config.checkpoint_every_s, self._make_goals(config, session)
        self._worker = LearnerWorker(self, self._session, every, goals)
        self._make_interface()
        self._watch()
        self._worker.start()

    def _make_store(self, log: LogConfig) -> EpisodeStore:
        paths = [_path(getattr(self._config, f"{n}_dir")) for n in ("demonstrations", "log")]
        encode = partial(encode_episode, compression=self._config.compression)
        return EpisodeStore(*paths, read_episode, encode, DiskSpace(log.min_free_bytes))

    def _make_goals(
        self, config: LearnerConfig, session: SessionConfig
    ) -> Callable[[], Goals] | None:
        """What makes the goals, for the worker: it takes a while."""
        if not config.agent.vice.enabled:
            return None
        agent, directory = config.agent, Path(self._config.goals_dir).expanduser()
        return partial(load_goals, directory, read_episode, agent.vice, agent.encoder, session.seed)

    def _make_interface(self) -> None:
        self._transitions = self.create_subscription(
            Transition, "transitions", self._on_message, TRANSITIONS
        )
        self.create_subscription(Relabel, "transitions/relabel", self._on_message, TRANSITIONS)
        self.create_service(GetPolicyParams, "get_policy_params", self._on_get_params)
        self.create_service(SaveCheckpoint, "save_checkpoint", self._on_save)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(WATCH_PERIOD, self._watch, clock=steady)

    def _on_message(self, message: Transition | Relabel) -> None:
        self._last_heard = time.monotonic()
        self._worker.put(message)

    def _on_get_params(
        self, request: GetPolicyParams.Request, response: GetPolicyParams.Response
    ) -> GetPolicyParams.Response:
        newest = self._session.newest_params
        response.available = newest is not None and newest.version > request.newer_than
        if newest is not None and response.available:
            response.params = params_to_msg(newest)
        return response

    async def _on_save(
        self, request: SaveCheckpoint.Request, response: SaveCheckpoint.Response
    ) -> SaveCheckpoint.Response:
        answer: Future = Future(executor=self.executor)
        self._worker.save(request, answer)
        response.success, response.message = await answer
        return response

    def _watch(self) -> None:
        if self.failure is not None:
            self._status.say("failed", detail=str(self.failure))
            return
        now_at = phase(self._session) if self._worker.loaded else "loading"
        detail = ""
        if self._session.rejected:
            detail = f"{self._session.rejected} refused, last: {self._session.last_rejection}"
        self._status.say(now_at, self._session.waiting_for or self._missing(now_at), detail)

    def _missing(self, now_at: str) -> str:
        """What there is too little of to go on."""
        heard = self._last_heard
        silent = heard is None or time.monotonic() - heard > SILENCE
        if not silent or now_at in ("loading", "compiling") or self._worker.busy:
            return ""
        if self.count_publishers(self._transitions.topic_name) == 0:
            return "an actor (a publisher on transitions)"
        return lacking(self._session)

    # Ends

    @property
    def failure(self) -> Exception | None:
        """Why the worker ended by itself."""
        return self._worker.failure

    def say_failed(self) -> None:
        """Publishes what went wrong."""
        self._watch()

    def close(self) -> bool:
        """Seals what is open and writes a checkpoint; false: the worker is still at work."""
        idle = self._worker.stop(STOP_LIMIT)
        if self._lock is not None:
            self._lock.close()
        return idle


def _path(text: str) -> Path | None:
    return Path(text).expanduser() if text else None


def run() -> int:
    """Runs the node until it is told to stop or fails; the exit code."""
    give_way()
    stop = begin()
    try:
        node = LearnerNode()
    except (ParameterError, ParamsError, EpisodeError, OSError) as error:
        print(f"learner: {error}", file=sys.stderr)
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    while not stop.is_set() and node.failure is None:
        executor.spin_once(timeout_sec=PATIENCE)
    if node.failure is not None:
        node.say_failed()
        until = time.monotonic() + LAST_WORDS
        while not stop.is_set() and time.monotonic() < until:
            executor.spin_once(timeout_sec=0.1)
    idle = node.close()
    if isinstance(node.failure, (EpisodeError, CheckpointError, WeightsError, BadFrames)):
        print(f"learner: {node.failure}", file=sys.stderr)
    elif node.failure is not None:
        traceback.print_exception(node.failure)
    code = 0 if node.failure is None else 1
    if not idle:  # XLA's compiler cannot be interrupted, and does not survive a normal exit
        sys.stderr.flush()
        os._exit(code)
    executor.shutdown()
    node.destroy_node()
    rclpy.try_shutdown()
    return code


def main() -> None:
    """Entry point."""
    sys.exit(run())


if __name__ == "__main__":
    main()
