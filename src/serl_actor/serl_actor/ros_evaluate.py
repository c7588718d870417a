"""The `evaluate` action: episodes outside replay, played between two episodes of the job."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node

from serl_actor.evaluation import Evaluation
from serl_actor.job import JobFailed
from serl_actor.policy_source import Snapshot
from serl_actor.robot_client import RobotError
from serl_actor.rollout import Driver, Episode
from serl_actor.transition_sender import SenderError
from serl_interfaces.action import Evaluate

WAITING_GOALS = 4
"""Goals that may wait; more are refused."""

Play = Callable[[Driver, int], Episode]
MakeDriver = Callable[[Snapshot, bool], Driver]


class EvaluateServer:
    """Takes goals in the executor's thread; `serve` plays them in the rollout's thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._goals: queue.Queue[Any] = queue.Queue(WAITING_GOALS)
        self._server = ActionServer(
            node,
            Evaluate,
            "evaluate",
            execute_callback=self._finish,
            goal_callback=self._judge,
            handle_accepted_callback=self._goals.put_nowait,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )
        self._results: dict[bytes, Evaluate.Result] = {}

    @property
    def waiting(self) -> bool:
        """There is something to serve."""
        return not self._goals.empty()

    @property
    def ending(self) -> bool:
        """Results are there that have not been sent yet."""
        return bool(self._results)

    def serve(self, snapshot: Snapshot | None, make_driver: MakeDriver, play: Play) -> None:
        """Plays what was asked for with one policy; None: there is none yet.

        A goal always gets a result. What the robot or the learner refuses ends the goal and not
        the job; anything else, also Cancelled, goes on to the caller.
        """
        while self.waiting:
            goal = self._goals.get_nowait()
            result = Evaluate.Result(message="no policy parameters have arrived yet")
            try:
                if snapshot is not None:
                    result = _play(goal, make_driver(snapshot, goal.request.deterministic), play)
                    result.message = result.message or f"policy version {snapshot.version}"
            except (JobFailed, RobotError, SenderError) as error:
                result = Evaluate.Result(message=str(error))
            except BaseException as error:
                result = Evaluate.Result(message=str(error) or "the actor was stopped")
                raise
            finally:
                self._end(goal, result)

    def refuse(self, why: str) -> None:
        """Ends all goals that wait; there will be nobody to play them."""
        while self.waiting:
            self._end(self._goals.get_nowait(), Evaluate.Result(message=why))

    def _end(self, goal: Any, result: Evaluate.Result) -> None:
        self._results[bytes(goal.goal_id.uuid)] = result
        goal.execute()

    def _judge(self, request: Evaluate.Goal) -> GoalResponse:
        if request.episodes < 1 or self._goals.full():
            self._node.get_logger().warning(
                f"evaluation of {request.episodes} episodes refused: expected at least 1, and at "
                f"most {WAITING_GOALS} goals that wait"
            )
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _finish(self, goal: Any) -> Evaluate.Result:
        """Called back once the result is there."""
        result = self._results.pop(bytes(goal.goal_id.uuid))
        if goal.is_cancel_requested:
            goal.canceled()
        elif result.success:
            goal.succeed()
        else:
            goal.abort()
        return result


def _play(goal: Any, driver: Driver, play: Play) -> Evaluate.Result:
    episodes: list[Episode] = []
    for index in range(goal.request.episodes):
        if goal.is_cancel_requested:
            break
        episodes.append(play(driver, goal.request.seed + index))
        solved = sum(episode.success for episode in episodes)
        goal.publish_feedback(Evaluate.Feedback(done=len(episodes), successes=solved))
    outcome = Evaluation.of(episodes)
    return Evaluate.Result(
        success=outcome.trials == goal.request.episodes,
        message="" if outcome.trials == goal.request.episodes else "cancelled",
        successes=outcome.successes,
        episodes=outcome.trials,
        mean_time=outcome.mean_time_s or 0.0,
    )
