"""Parameters of the impedance law; their defaults and bounds are those of the C++ struct."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco  # noqa: F401  first: the compiled module then finds the same libmujoco loaded

from serl_controllers import _binding
from serl_controllers.geometry import Pose

Floats = tuple[float, ...]

_DEFAULTS = _binding.default_parameters()


def _freeze(instance: object) -> None:
    """Sequences, arrays too, become tuples of floats."""
    for field in dataclasses.fields(instance):  # type: ignore[arg-type]
        value = getattr(instance, field.name)
        if not isinstance(value, (int, float, str)) and hasattr(value, "__len__"):
            object.__setattr__(instance, field.name, tuple(float(v) for v in value))


@dataclass(frozen=True)
class WorkspaceBox:
    """Limits of a target about a reference pose, along and about the axes of the base frame.

    Attributes:
      position: of the reference, base frame, [3] [m].
      quaternion: of the reference, base frame, xyzw [4], unit.
      lower: least offset of the position [m] and of the rotation vector [rad] that turns the
        reference into the target, [6].
      upper: largest offset, [6].

    Raises:
      ValueError: naming the value and the bounds.
    """

    position: Floats
    quaternion: Floats
    lower: Floats
    upper: Floats

    def __post_init__(self) -> None:
        _freeze(self)
        _binding.validate_box(self)

    @classmethod
    def about(cls, reference: Pose, lower: Sequence[float], upper: Sequence[float]) -> WorkspaceBox:
        """The box about a pose in the base frame."""
        position, quaternion = reference.position, reference.quaternion
        return cls(tuple(position), tuple(quaternion), tuple(lower), tuple(upper))

    def clip(self, pose: Pose) -> tuple[Pose, bool]:
        """The nearest pose inside, per axis, and whether it differs; as the law does it."""
        (position, quaternion), moved = _binding.clip(self, pose.position, pose.quaternion)
        return (Pose(position, quaternion), True) if moved else (pose, False)


@dataclass(frozen=True)
class LawParameters:
    """How the arm yields. Tuples of 6 are per axis of the base frame, translation first.

    The error is measured minus target, so `clip_positive` z bounds the push along -z.
    Rotation errors are rotation vectors. A controller whose error is the vector part of a
    quaternion, sin(angle / 2), behaves the same with half its rotational stiffness and twice
    its rotational clips here; its damping acts on the velocity and stays as it is.

    Attributes:
      stiffness: [6] [N/m, N m/rad].
      damping: [6] [N s/m, N m s/rad].
      integral_gain: [6] [N/(m s), N m/(rad s)].
      integral_limit: largest wrench of the integral, [6] [N, N m].
      clip_positive: largest pose error, [6] [m, rad].
      clip_negative: largest pose error the other way, as a positive number, [6] [m, rad].
      nullspace_stiffness: towards the joints at reset [N m/rad].
      joint1_nullspace_stiffness: its factor for joint 1.
      joint_limit_margin: of the spring before each end of a joint's travel [rad].
      joint_limit_stiffness: of that spring [N m/rad].
      target_time_constant: of the target filter [s]; 0: none.
      gain_time_constant: of the gain filter [s]; 0: none.
      torque_rate_limit: [N m per tick].
      torque_limit: without gravity, [7] [N m].
      fault_damping: of every joint while in FAULT [N m s/rad].
      command_timeout: a command older than this holds the arm [s].
      box: that targets are kept in; None: no limits.

    Raises:
      ValueError: naming the parameter, its value and the bounds.
    """

    stiffness: Floats = _DEFAULTS["stiffness"]
    damping: Floats = _DEFAULTS["damping"]
    integral_gain: Floats = _DEFAULTS["integral_gain"]
    integral_limit: Floats = _DEFAULTS["integral_limit"]
    clip_positive: Floats = _DEFAULTS["clip_positive"]
    clip_negative: Floats = _DEFAULTS["clip_negative"]
    nullspace_stiffness: float = _DEFAULTS["nullspace_stiffness"]
    joint1_nullspace_stiffness: float = _DEFAULTS["joint1_nullspace_stiffness"]
    joint_limit_margin: float = _DEFAULTS["joint_limit_margin"]
    joint_limit_stiffness: float = _DEFAULTS["joint_limit_stiffness"]
    target_time_constant: float = _DEFAULTS["target_time_constant"]
    gain_time_constant: float = _DEFAULTS["gain_time_constant"]
    torque_rate_limit: float = _DEFAULTS["torque_rate_limit"]
    torque_limit: Floats = _DEFAULTS["torque_limit"]
    fault_damping: float = _DEFAULTS["fault_damping"]
    command_timeout: float = _DEFAULTS["command_timeout"]
    box: WorkspaceBox | None = None

    def __post_init__(self) -> None:
        _freeze(self)
        _binding.validate_parameters(self)
