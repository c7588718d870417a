"""A scripted stand-in for a person who picks up a block and puts it down in its place."""

from __future__ import annotations

from enum import Enum

import numpy as np

from serl_controllers.arm import ArmState
from serl_controllers.geometry import Array, Pose
from serl_sim.expert import STREAM, ExpertConfig, Tremor, turn_upright

CLOSE, OPEN = -1.0, 1.0
"""What the gripper is asked for; 0 leaves it as it is."""


class Phase(Enum):
    """What the person is about."""

    APPROACH = "approach"
    DESCEND = "descend"
    CLOSE = "close"
    LIFT = "lift"
    CARRY = "carry"
    LOWER = "lower"
    OPEN = "open"
    RETREAT = "retreat"


_STILL = (Phase.CLOSE, Phase.OPEN)
_HOLDING = (Phase.LIFT, Phase.CARRY, Phase.LOWER)


class PickExpert:
    """Acts on arm states, and on where it sees the block; implements experts.Expert.

    `see_object` comes before what is asked about a state. The same seed, states and blocks give
    the same actions.
    """

    def __init__(self, config: ExpertConfig) -> None:
        self._config, self._pick = config, config.pick
        self._block: Pose | None = None
        self.reset(0)

    def reset(self, seed: int, fixture: Pose | None = None) -> None:
        """A new episode, and a new mood.

        Args:
          seed: of all they do.
          fixture: the tcp's pose with the block in place, T_base_fixture; None: as configured.
        """
        config = self._config
        if fixture is None:
            fixture = Pose.from_rpy(config.target_position, config.target_rpy)
        self._T_fixture_base = fixture.inverse()
        self._rng = np.random.default_rng((seed, STREAM))
        self._speed = self._rng.uniform(*self._pick.speed)
        self._tremor = Tremor(self._rng, config.tremor)
        self._yaw = self._rng.normal(0.0, config.yaw_error)
        self._travel = self._rng.uniform(*self._pick.travel)
        self.begin_again()

    @property
    def phase(self) -> Phase:
        """What the last action was for."""
        return self._phase

    @property
    def gripper(self) -> float:
        """What the last action asks of the gripper: -1 close, +1 open, 0 as it is."""
        return self._gripper

    def see_object(self, pose: Pose | None) -> None:
        """Where the block is now, T_base_object."""
        self._block = pose

    def begin_again(self) -> None:
        """Somebody else has moved the arm meanwhile: look at what there is to do."""
        self._pause = 0
        self._gripper = 0.0
        self._look_again()
        self._enter(Phase.APPROACH)
        self._begins = True

    def act(self, state: ArmState) -> Array:
        """Action [6] in [-1, 1]: translation and rotation vector in the current tcp frame.

        Raises:
          ValueError: nothing was said of the block.
        """
        tool, block = self._T_fixture_base @ state.tcp_pose, self._block_position()
        if self._begins:
            self._begins, self._anchor = False, tool.position
            self._take_up(tool.position, block, state.gripper)
        before = self._phase
        self._decide(tool.position, block, state.gripper)
        if self._phase is not before:
            self._anchor = tool.position
        action = np.concatenate(
            (
                tool.inverse().rotate(self._translation(tool.position, block)),
                turn_upright(tool, self._yaw, self._config),
            )
        )
        return self._tremor.shake(action)

    def distance(self, state: ArmState, lever: float) -> float:
        """How far there is to go [m]: the tool to the block, then the block to its place, where
        it is to be let go. How the tool is turned (`lever`) does not count.

        Raises:
          ValueError: nothing was said of the block.
        """
        tool, block = self._T_fixture_base @ state.tcp_pose, self._block_position()
        left = float(np.linalg.norm(block))
        if self._is_held(tool.position, block, state.gripper):
            return left + self._pick.not_released
        if self._is_in_place(block):
            return left
        reach = float(np.linalg.norm(block - tool.position))
        return left + self._pick.not_released + self._pick.not_grasped + reach

    def _block_position(self) -> Array:
        """In the fixture's frame, [3] [m]."""
        if self._block is None:
            raise ValueError("where the block is has not been said: see_object comes first")
        return (self._T_fixture_base @ self._block).position

    def _is_held(self, tool: Array, block: Array, opening: float) -> bool:
        near = float(np.linalg.norm(block - tool)) < self._pick.held
        return near and opening < self._pick.released

    def _is_in_place(self, block: Array) -> bool:
        pick = self._pick
        return bool(np.all(np.abs(block) < (pick.in_place, pick.in_place, pick.level)))

    def _enter(self, phase: Phase, steps: tuple[int, int] = (1, 1)) -> None:
        """`steps`: how long it may last, where the phase is timed."""
        self._phase = phase
        self._steps_left = self._steps(steps)

    def _steps(self, bounds: tuple[int, int]) -> int:
        return int(self._rng.integers(bounds[0], bounds[1] + 1))

    def _timed_out(self) -> bool:
        self._steps_left -= 1
        return self._steps_left < 0

    def _look_again(self) -> None:
        """How they now misjudge block and place, and how well they will grasp [m]."""
        pick, rng = self._pick, self._rng
        self._aim_error = np.append(
            rng.normal(0.0, pick.look_error, 2), rng.normal(0.0, pick.reach_error)
        )
        if rng.uniform() < pick.hasty:
            self._aim_error[2] -= pick.hasty_height
        self._place = np.append(rng.normal(0.0, pick.look_error, 2), -rng.uniform(*pick.drop))

    def _take_up(self, tool: Array, block: Array, opening: float) -> None:
        """Where to go on from what somebody else has left."""
        if self._is_held(tool, block, opening):
            over = bool(np.all(np.abs(block[:2]) < self._pick.in_place))
            self._enter(Phase.LOWER if over else Phase.LIFT, self._pick.patience)

    def _decide(self, tool: Array, block: Array, opening: float) -> None:
        """Moves on to another phase where this one is done or of no use."""
        pick, phase = self._pick, self._phase
        if phase in _HOLDING and not self._is_held(tool, block, opening):
            self._look_again()
            self._enter(Phase.APPROACH)
        elif phase is Phase.APPROACH:
            if self._is_over(tool, (block + self._aim_error)[:2]) and opening > 0.9:
                self._enter(Phase.DESCEND, pick.patience)
        elif phase is Phase.DESCEND:
            if (block + self._aim_error)[2] - tool[2] < 0.004 or self._timed_out():
                self._enter(Phase.CLOSE, pick.close_steps)
        elif phase is Phase.CLOSE:
            if self._timed_out():
                self._enter(Phase.LIFT)
        elif phase is Phase.LIFT:
            if -block[2] > pick.clear:
                self._enter(Phase.CARRY)
        elif phase is Phase.CARRY:
            if self._is_over(block, self._place[:2]):
                self._enter(Phase.LOWER, pick.patience)
        elif phase is Phase.LOWER:
            if self._place[2] - block[2] < 0.002 or self._timed_out():
                self._enter(Phase.OPEN, pick.open_steps)
        elif phase is Phase.OPEN:
            if self._timed_out():
                self._enter(Phase.RETREAT)
        elif -tool[2] > pick.clear and not self._is_in_place(block):
            self._look_again()
            self._enter(Phase.APPROACH)

    def _is_over(self, position: Array, goal: Array) -> bool:
        return float(np.linalg.norm(position[:2] - goal)) < self._pick.near

    def _translation(self, tool: Array, block: Array) -> Array:
        """Translation action [3] in the fixture frame; also says what the gripper shall do."""
        phase = self._phase
        self._gripper = {Phase.CLOSE: CLOSE, Phase.OPEN: OPEN, Phase.APPROACH: OPEN}.get(phase, 0.0)
        if phase in _STILL:
            return self._towards(tool, self._anchor)
        if self._pause > 0:
            self._pause -= 1
            return np.zeros(3)
        if self._rng.uniform() < self._config.hesitation:
            self._pause = self._steps(self._config.hesitation_steps)
        aim = block + self._aim_error
        if phase is Phase.APPROACH:
            return self._towards(tool, np.array((aim[0], aim[1], -self._travel)))
        if phase is Phase.DESCEND:
            return self._towards(tool, aim)
        if phase is Phase.CARRY:
            return self._towards(block, np.array((*self._place[:2], -self._travel)))
        if phase is Phase.LOWER:
            return self._towards(block, self._place)
        return self._towards(tool, np.array((*self._anchor[:2], -self._travel)))

    def _towards(self, position: Array, goal: Array) -> Array:
        """Translation action [3] from one to the other, no faster than they are."""
        step = (goal - position) / self._config.translation_scale
        return step * min(1.0, self._speed / max(float(np.linalg.norm(step)), 1e-9))
