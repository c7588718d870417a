"""The task as a Gymnasium environment over a robot, real or simulated."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from serl_actor.action import ActionScale, executable
from serl_actor.camera_views import CamerasConfig, look
from serl_actor.frames import StaleImage, check_frames, taken_at
from serl_actor.intervention import Intervention
from serl_actor.observation import ObservationScale
from serl_actor.observer import Observer, observation_space
from serl_actor.reward_judge import Judge
from serl_actor.robot_client import ArmFault, RobotClient, RobotError
from serl_actor.task import TaskConfig
from serl_actor.veto_key import VetoKey
from serl_actor.workspace import Workspace
from serl_controllers.arm import ArmMode, ArmState, ArmTarget
from serl_controllers.geometry import Array
from serl_learner.gripper_hand import GripperHand
from serl_learner.types import Source

logger = logging.getLogger(__name__)

BROKEN_MODES = (ArmMode.REFLEX, ArmMode.FAULT, ArmMode.IDLE)


class Environment(gymnasium.Env):  # type: ignore[type-arg]
    """10 Hz control of the tool pose; see `observation` and `action` for the two spaces.

    `step` returns in `info`: `executed_action` [A], what the arm was told after clipping and
    intervention, and whether the gripper closed (-1) or opened (+1), if the task moves it; None
    when the step was refused; `source`, who chose it; `success`; `solved_steps`, so many, this one
    among them, led to the frames for which it is believed, 0 without success; `refused`;
    `interrupted`, a camera paused after it, so that there is no next observation in time.
    `terminated` means success only; the time limit is `truncated`. Both `step` and `reset` return
    what is known of the observation: `true_success`, by the pose, None where nobody knows where
    the fixture is; and with a judge `probability`, None if there was no verdict in time.

    Without a judge the pose says what is a success, with one the judge alone does.

    Attributes:
      refused_actions: so many were not finite.
      pauses: so often the arm held because a camera had no picture of now.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        robot: RobotClient,
        task: TaskConfig,
        scale: ObservationScale | None = None,
        cameras: CamerasConfig | None = None,
        judge: Judge | None = None,
        veto: VetoKey | None = None,
    ) -> None:
        """`veto`: the operators' key, which is against what the judge or the pose calls solved."""
        self.robot = robot
        self.task = task
        self.refused_actions = 0
        self.pauses = 0
        self.judge = judge
        self._veto = veto or VetoKey()
        self.episode_seed = 0
        self._action_scale = ActionScale(task.translation_scale, task.rotation_scale)
        self._workspace = Workspace.of(task)
        self._hand = GripperHand(task.moves_gripper)
        self._cameras = cameras or CamerasConfig()
        seen = bool(self._cameras.names)
        self._observer = Observer(robot, task, seen, scale or ObservationScale())
        self._images: dict[str, np.ndarray] = {}
        self.taken: dict[str, np.ndarray] = {}  # when, of those that are not of the state's stamp
        self._state: ArmState | None = None
        self._steps = 0
        self._others_drove = False  # the last step of the episode was nobody's intervention
        self.observation_space = observation_space(self._cameras, task)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (task.action_dim,), np.float32)

    @property
    def frame_name(self) -> str:
        """Of the frame that `state/*` is given in: start or fixture."""
        return self._observer.frame_name

    @property
    def state(self) -> ArmState:
        """The arm state behind the last observation."""
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before anything else")
        return self._state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Draws a start pose and brings the arm there; RobotError if it cannot, or cannot see.

        The same `seed` gives the same start and the same scene; None goes on with the sequence.
        """
        super().reset(seed=seed)
        self.episode_seed = int(self.np_random.integers(2**31))
        start = self.task.draw_start(self.np_random)
        self._steps, self._others_drove = 0, False
        self._unopposed = 0  # steps since a success was vetoed
        self._hand.begin()
        self._move(lambda: self.robot.reset(start, self.episode_seed))
        self._look()
        self._observer.begin(self.state)
        observation = self._observe()
        if self.judge is not None:
            self.judge.begin()
        self._veto.begin()
        _, judged = self._judge(observation)
        return observation, judged

    def step(
        self, action: Array, intervention: Intervention | None = None
    ) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """One control period. An active intervention takes the place of `action`.

        The first one after steps of another driver goes on from the commanded pose, so that the
        target does not jump back to where the arm lags behind; what is executed is stored.

        An action that is not finite is not sent: the arm holds its pose for the period, the step
        is counted in `refused_actions`, and there is nothing to store (`executed_action` None).

        When a camera pauses, the arm holds until it is back: the step has no observation that
        follows it in time, so it is not to be stored, and it solves nothing (`interrupted`).

        Raises:
          RobotError: state stale, arm broken or a camera gone for good; the arm holds and the
            episode is over.
        """
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        source = Source.POLICY
        if intervention is not None and intervention.active:
            source = Source.INTERVENTION
            action = self._intervene(intervention)
        self._others_drove = source is Source.POLICY
        action = np.asarray(action, dtype=np.float64)
        executed: np.ndarray | None = None
        if np.all(np.isfinite(action)):
            executed = self._execute(action)
        else:
            self._refuse(action)
        self._steps += 1
        interrupted = not self._look()
        observation = self._observe()
        if interrupted and self.judge is not None:
            self.judge.begin()  # no frame follows the one before
        frames, judged = self._judge(observation)
        success = self._veto.passes(frames > 0 and not interrupted)
        self._unopposed = 0 if frames and not success else self._unopposed + 1
        truncated = not success and self._steps >= self.task.episode_steps
        info = {
            "executed_action": executed,
            "source": source,
            "success": success,
            "solved_steps": min(frames, self._unopposed) if success else 0,
            "refused": executed is None,
            "interrupted": interrupted,
            **judged,
        }
        return observation, float(success), success, truncated, info

    def hold_while(self, held: Callable[[], bool]) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Keeps pose and gripper as long as `held` says so, and returns what `reset` does.

        No step of the task: what was seen before does not lead to it. Raises as `step`, and what
        `held` raises.
        """
        target = self._here()
        while held():
            self._move(lambda: self.robot.step(target))
        self._others_drove = False
        self._veto.passes(False)
        self._look()
        if self.judge is not None:
            self.judge.begin()
        observation = self._observe()
        _, judged = self._judge(observation)
        return observation, judged

    def hold(self) -> None:
        """Leaves the arm keeping its pose."""
        self.robot.hold()

    def close(self) -> None:
        """Lets go of the robot."""
        self.robot.close()

    def _intervene(self, intervention: Intervention) -> Array:
        """The action [A] that the operator means; not finite if what they said is not."""
        pose = self.state.tcp_pose
        action = intervention.whole_action(pose, self.task.action_dim)
        if self._others_drove and np.all(np.isfinite(action[:6])):
            commanded = self.state.commanded_pose
            action[:6] = self._action_scale.taken_over(action[:6], pose, commanded)
        return action

    def _execute(self, action: Array) -> np.ndarray:
        target, executed = executable(
            action[:6], self.state.tcp_pose, self._action_scale, self._workspace
        )
        if self.task.moves_gripper:
            executed = np.append(executed, self._hand.command(action[6]))
        self._move(lambda: self.robot.step(ArmTarget(target, self._hand.opening)))
        return executed.astype(np.float32)

    def _here(self) -> ArmTarget:
        """Where the arm is, as far as the box goes, and the gripper as it is commanded."""
        return ArmTarget(self._workspace.clip(self.state.tcp_pose), self._hand.opening)

    def _refuse(self, action: Array) -> None:
        self.refused_actions += 1
        if self.refused_actions & (self.refused_actions - 1) == 0:  # the 1st, 2nd, 4th, 8th, ...
            logger.warning(
                "action %s is not finite: the arm keeps its pose (%d such actions so far)",
                action.tolist(),
                self.refused_actions,
            )
        held = self._here()
        self._move(lambda: self.robot.step(held))

    def _move(self, ask: Callable[[], ArmState]) -> None:
        """Takes over the state that `ask` returns; without a good one the arm holds."""
        self._state = None
        try:
            state = ask()
            if state.mode in BROKEN_MODES:
                raise ArmFault(
                    f"the arm is in mode {state.mode.name}", "arm/recover, when it is safe"
                )
        except RobotError:
            self.robot.hold()
            raise
        self._state = state

    def _look(self) -> bool:
        """Takes over pictures that belong to the state; false: the arm had to hold for them."""
        if not self._cameras.names:
            return True
        try:
            self._images = self._see()
            return True
        except StaleImage as error:
            self._hold_until_seen(error)
            return False

    def _hold_until_seen(self, error: StaleImage) -> None:
        """Keeps the pose until every camera is back; StaleImage if its patience runs out."""
        self.pauses += 1
        logger.warning("%s: the arm holds", error)
        held = self._here()
        for _ in range(math.ceil(self._cameras.limits.patience / self.task.control_period)):
            self._move(lambda: self.robot.step(held))
            try:
                self._images = self._see()
                logger.warning("camera %s is back", error.camera)
                return
            except StaleImage as again:
                error = again
        self._state = None
        self.robot.hold()
        raise error

    def _see(self) -> dict[str, np.ndarray]:
        """The pictures of the observation; StaleImage, and UnusableImage with the arm holding."""
        frames, stamp_ns = self.robot.images(), self.state.stamp_ns
        check_frames(frames, self._cameras.names, stamp_ns, self._cameras.limits.max_skew)
        self.taken = taken_at(frames, stamp_ns)
        try:
            return look(frames, self._cameras)
        except RobotError:
            self._state = None
            self.robot.hold()
            raise

    def _judge(self, observation: dict[str, np.ndarray]) -> tuple[int, dict[str, Any]]:
        """For how many frames in a row the task is solved, 0: it is not; and what is known of the
        observation."""
        fixture = self.robot.fixture()
        truth = self._observer.is_solved(self.state, fixture)
        if self.judge is None:
            return int(bool(truth)), {"true_success": bool(truth)}
        verdict = self.judge.judge(observation, self.state)
        probability = None if verdict is None else verdict.probability
        known = {"true_success": truth if fixture is not None else None, "probability": probability}
        return max(verdict.frames, 1) if verdict is not None and verdict.success else 0, known

    def _observe(self) -> dict[str, np.ndarray]:
        try:
            seen = self._observer.observe(self.state, self._hand.opening)
        except RobotError:
            self._state = None
            self.robot.hold()
            raise
        return seen | self._images
