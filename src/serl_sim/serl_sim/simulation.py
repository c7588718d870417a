"""The arm and its task in MuJoCo, advanced one control period per command: lockstep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import mujoco
import numpy as np

from serl_controllers.arm import ArmState, ArmTarget
from serl_controllers.geometry import Pose
from serl_controllers.joint_limits import JointLimits
from serl_controllers.law_parameters import LawParameters
from serl_controllers.simulated_arm import SimulatedArm
from serl_sim import scene
from serl_sim.config import SceneConfig, SceneError
from serl_sim.kinematics import InverseKinematics, site_pose
from serl_sim.scene_kind import Arrangement
from serl_sim.tool import TCP_SITE

DEEPEST_START = 1e-4
"""A start pose with something deeper than this in something else is refused [m]."""


class Watcher(Protocol):
    """Looks at the simulation between two ticks; changes nothing."""

    every: int
    """Ticks from one look to the next."""

    def begin(self) -> None:
        """An episode has begun."""
        ...

    def look(self) -> None:
        """So many ticks have passed."""
        ...


class Looks(Protocol):
    """Light and colours of the scene; changes nothing of the physics."""

    def begin(self, seed: int, randomise: bool) -> None:
        """An episode begins: draws its light and colours, or restores those of the scene."""
        ...


class Simulation:
    """An impedance-controlled arm that repeats exactly: same calls, same states, bit for bit.

    Stamps count simulated time since construction. They never repeat, also across resets, so a
    late answer to a state of an earlier episode cannot pass for one to this episode.
    """

    def __init__(
        self, config: SceneConfig, law: LawParameters, control_period: float = 0.1
    ) -> None:
        """Builds the scene and resets it to its nominal start, without hidden offsets.

        Raises:
          SceneError: control_period [s] is no whole number of physics ticks.
        """
        ticks = round(control_period / config.physics_period)
        if ticks < 1 or not math.isclose(ticks * config.physics_period, control_period):
            raise SceneError(
                f"control_period is {control_period} s, expected a multiple of the physics "
                f"period {config.physics_period} s"
            )
        self.config = config
        self.ticks_per_period = ticks
        self.model = scene.build_model(config)
        self.data = mujoco.MjData(self.model)
        self._trial = mujoco.MjData(self.model)
        self._site = self.model.site(TCP_SITE).id
        self._tick_ns = round(config.physics_period * 1e9)
        self._ticks = 0
        self._command_seq = 0
        self._refused = 0
        self._looks: Looks | None = None
        self._watcher: Watcher | None = None
        self._until_look = 0
        self.kind = scene.make_kind(config)
        self._arrangement = self.kind.draw(None)
        self._kinematics = InverseKinematics(self.model, self._site, config.home)
        self._rest(self.data, self._find(config.nominal_start))
        self._arm = SimulatedArm(
            self.model, self.data, TCP_SITE, list(scene.JOINTS), list(scene.ACTUATORS), law
        )
        self.reset(seed=0, randomise=False)

    def reset(self, seed: int, start: Pose | None = None, randomise: bool = True) -> ArmState:
        """Starts an episode: arm, setpoint and controller at once, at rest.

        Args:
          seed: of all that is drawn of the scene, and of the looks.
          start: T_base_tcp; None is the nominal start.
          randomise: False leaves everything where it is configured (the plug straight in the
            hand, the socket at the target), and the looks as they are in the scene.

        Returns:
          The first state, with command_seq 0.

        Raises:
          SceneError: the start pose is out of reach or inside the fixture; the episode before
            goes on.
        """
        before = self._arrangement
        self._arrange(self.kind.draw(seed if randomise else None))
        try:
            q = self._find(self.config.nominal_start if start is None else start)
        except SceneError:
            self._arrange(before)
            raise
        if self._looks is not None:
            self._looks.begin(seed, randomise)
        self._rest(self.data, q)
        self._arm.reset()
        self._command_seq = 0
        self._ticks += self.ticks_per_period
        if self._watcher is not None:
            self._until_look = self._watcher.every
            self._watcher.begin()
        return self.state()

    def step(self, target: ArmTarget, command_seq: int | None = None) -> ArmState:
        """Carries out a command for one control period.

        A refused command (not finite, not normalised) is counted, and the arm holds its pose for
        that period. `command_seq` is what the state will carry unless refused; None counts on.
        """
        self.command(target, self._command_seq + 1 if command_seq is None else command_seq)
        return self.advance(self.ticks_per_period)

    def command(self, target: ArmTarget, command_seq: int) -> bool:
        """Hands a command to the law without advancing.

        False: refused and counted, and `command_seq` is not taken over.
        """
        if not self._arm.set_target(target.pose.position, target.pose.quaternion):
            return False
        if target.gripper is not None:
            self.kind.command(self.data, target.gripper)
        self._command_seq = command_seq
        return True

    def refuse(self) -> None:
        """Counts a command that was refused before it reached the law."""
        self._refused += 1

    def advance(self, ticks: int) -> ArmState:
        """Runs physics and law for so many ticks, with the last command."""
        while ticks > 0:
            run = ticks if self._watcher is None else min(ticks, self._until_look)
            self._arm.step(run)
            self._ticks += run
            ticks -= run
            if self._watcher is not None:
                self._until_look -= run
                if self._until_look == 0:
                    self._until_look = self._watcher.every
                    self._watcher.look()
        return self.state()

    def dress(self, looks: Looks | None) -> None:
        """Gives the episodes to come these looks; None: they stay as they are."""
        self._looks = looks

    def watch(self, watcher: Watcher | None) -> None:
        """Has `watcher` look from now on; None: nobody looks."""
        self._watcher = watcher
        self._until_look = watcher.every if watcher is not None else 0

    def state(self) -> ArmState:
        """The arm now."""
        arm = self._arm
        return ArmState(
            stamp_ns=self._ticks * self._tick_ns,
            command_seq=self._command_seq,
            tcp_pose=Pose(arm.tcp_position, arm.tcp_quaternion),
            tcp_twist=arm.tcp_twist,
            wrench=arm.wrench,
            q=arm.q,
            dq=arm.dq,
            tau_ext=arm.tau_ext,
            gripper=self.kind.opening(self.data),
            mode=arm.mode,
            commanded_pose=Pose(arm.commanded_position, arm.commanded_quaternion),
            error_clipped=arm.error_clipped,
            target_clipped=arm.target_clipped,
            torque_saturated=arm.torque_saturated,
            rejected_commands=arm.rejected_commands + self._refused,
        )

    @property
    def command_seq(self) -> int:
        """Of the last command; 0 before the first of an episode."""
        return self._command_seq

    @property
    def peak_force(self) -> float:
        """Largest filtered contact force since the reset [N]."""
        return float(self._arm.peak_force)

    def tool_pose(self) -> Pose:
        """True pose of the tcp, T_base_tcp."""
        return site_pose(self.data, self._site)

    def connector_pose(self) -> Pose:
        """True pose of what is to be put in place, T_base_part: of the plug's tip, which the arm
        does not know, or of the block."""
        return self.kind.part_pose(self.data, self.tool_pose(), self._arrangement)

    @property
    def fixture(self) -> Pose:
        """Where the socket or the pad is in this episode: T_base_fixture, the tcp's with the plug
        seated or the block put down."""
        return self._arrangement.fixture

    @property
    def object(self) -> Pose | None:
        """Where the block is, T_base_object; None in a scene without one."""
        return self.kind.object(self.data)

    def start_joint_move(self, q: Sequence[float], max_velocity: float) -> bool:
        """Moves the joints to `q` [7] [rad], the fastest at `max_velocity` [rad/s], then holds.

        False: refused; see SimulatedArm.start_joint_move.
        """
        return self._arm.start_joint_move(np.array(q, dtype=np.float64), max_velocity)

    def cancel_joint_move(self) -> None:
        """Brakes a joint move, and holds."""
        self._arm.cancel_joint_move()

    def joint_limits(self, velocity: float) -> JointLimits:
        """The model's; it has no limit of velocity [rad/s], so that is given."""
        ranges = [self.model.joint(name).range for name in scene.JOINTS]
        lower, upper = zip(*((float(low), float(high)) for low, high in ranges))
        return JointLimits(scene.JOINTS, lower, upper, (velocity,) * len(ranges))

    def recover(self) -> None:
        """Leaves FAULT, to HOLD."""
        self._arm.recover()

    def set_law(self, law: LawParameters) -> None:
        """Other parameters for the law, from the next tick on."""
        self._arm.set_parameters(law)

    def _arrange(self, arrangement: Arrangement) -> None:
        """Puts things where they are in the episode to come."""
        self._arrangement = arrangement
        self.kind.arrange(self.model, arrangement)

    def _rest(self, data: mujoco.MjData, q: np.ndarray) -> None:
        """The arm's joints at `q` [7] [rad], all else as arranged, nothing moves."""
        mujoco.mj_resetData(self.model, data)
        data.qpos[: q.size] = q
        self.kind.rest(data, self._arrangement)
        mujoco.mj_forward(self.model, data)

    def _find(self, start: Pose) -> np.ndarray:
        """Joint positions [7] [rad] with the tool at `start`, which is free."""
        q = self._kinematics.solve(start)
        trial = self._trial
        self._rest(trial, q)
        deepest = trial.contact.dist.min() if trial.ncon else 0.0
        if deepest < -DEEPEST_START:
            raise SceneError(
                f"at the start pose {np.round(start.to_vector(), 4).tolist()} (xyz [m], quaternion "
                f"xyzw) {self.kind.intruder.format(f'{-1e3 * deepest:.2f} mm')}, allowed are "
                f"{1e3 * DEEPEST_START:.2f} mm"
            )
        return q
