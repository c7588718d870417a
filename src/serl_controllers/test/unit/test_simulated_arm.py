"""The law closed over MuJoCo: motion, contact, refusal, recovery."""

from __future__ import annotations

import threading

import mujoco
import numpy as np
import pytest
from conftest import JOINTS, MOTORS, START_Q, TABLE_TOP, build_model

from serl_controllers import LawParameters, SimulatedArm, WorkspaceBox
from serl_controllers.arm import ArmMode
from serl_controllers.geometry import Pose


def moved(pose: Pose, translation=(0, 0, 0), rotation=(0, 0, 0)) -> Pose:
    """The pose translated, and rotated in place, along and about the base's axes."""
    turn = Pose.from_rotation_vector(np.zeros(3), rotation) @ Pose(np.zeros(3), pose.quaternion)
    return Pose(pose.position + translation, turn.quaternion)


def test_rests_where_it_starts(bench):
    start = bench.tcp
    bench.arm.step(2000)
    assert start.distance(bench.tcp) == pytest.approx((0, 0), abs=1e-6)


def test_step_response_reaches_the_target(bench):
    target = moved(bench.tcp, (0.03, -0.02, -0.04), (0.05, -0.1, 0.3))
    poses = bench.follow(target, 3.0)
    metres, radians = target.distance(poses[-1])
    assert metres < 0.002
    assert radians < 0.02
    assert max(np.abs(bench.arm.dq)) < 1e-2


def test_pushes_with_stiffness_times_clip(make_bench):
    parameters = {"clip_positive": (0.01, 0.01, 0.004, 0.1, 0.1, 0.1)}
    bench = make_bench(**parameters)
    height = bench.tcp.position[2] - TABLE_TOP
    bench.follow(moved(bench.tcp, (0, 0, -height - 0.05)), 4.0)

    assert bench.tcp.position[2] == pytest.approx(TABLE_TOP, abs=5e-4)
    assert bench.arm.error_clipped.tolist() == [False, False, True, False, False, False]
    assert bench.arm.wrench[2] == pytest.approx(2000 * 0.004, rel=0.05)  # the table pushes up
    assert bench.arm.peak_force >= np.linalg.norm(bench.arm.wrench[:3])


def test_yields_to_an_applied_force_and_measures_it(bench):
    force = np.array((3.0, -2.0, 4.0))
    start = bench.tcp
    bench.data.body("peg").xfrc_applied[:3] = force
    bench.follow(start, 3.0)
    np.testing.assert_allclose(bench.arm.wrench[:3], force, rtol=1e-9)
    np.testing.assert_allclose(bench.tcp.position - start.position, force / 2000, rtol=0.1)
    arm_to_com = bench.data.body("peg").xipos - bench.data.site("tcp").xpos
    np.testing.assert_allclose(bench.arm.wrench[3:], np.cross(arm_to_com, force), atol=1e-6)
    power = bench.arm.tau_ext @ bench.arm.dq
    assert power == pytest.approx(bench.arm.wrench @ bench.arm.tcp_twist)


def test_case_2_a_target_that_is_not_finite_is_refused_and_the_pose_held(bench):
    bench.follow(moved(bench.tcp, (0.05, 0, 0)), 0.3)  # under way
    here, quaternion = bench.tcp, bench.tcp.quaternion
    assert not bench.arm.set_target([np.nan, 0, 0], quaternion)
    assert not bench.arm.set_target(bench.tcp.position, 1.1 * quaternion)
    assert bench.arm.rejected_commands == 2

    bench.arm.step(100)
    assert bench.arm.mode is ArmMode.HOLD
    bench.arm.step(3000)
    assert here.distance(bench.tcp) == pytest.approx((0, 0), abs=1e-3)
    bench.follow(here, 0.1)
    assert bench.arm.mode is ArmMode.IMPEDANCE


def test_case_3_roll_past_pi_does_not_flip(make_bench):
    bench = make_bench()
    down = bench.tcp.position
    bench.follow(Pose.from_rpy(down, (3.13, 0, 0)), 3.0)
    target = Pose.from_rpy(down, (-3.10, 0, 0))
    limits = np.array((0.1, 0.1, 0.1, 0.2, 0.2, 0.2))
    bench.arm.set_parameters(LawParameters(box=WorkspaceBox.about(target, -limits, limits)))

    angles = [target.distance(pose)[1] for pose in bench.follow(target, 3.0)]

    assert not bench.arm.target_clipped
    assert max(angles) < 0.2
    assert angles[-1] < 0.02


def test_d24_box_keeps_the_arm_inside_whatever_is_commanded(make_bench):
    bench = make_bench()
    limits = np.array((0.02, 0.02, 0.02, 0.1, 0.1, 0.1))
    start = bench.tcp
    bench.arm.set_parameters(LawParameters(box=WorkspaceBox.about(start, -limits, limits)))
    bench.follow(moved(start, (0.2, -0.2, 0.1), (0, 0, 1.0)), 3.0)
    assert bench.arm.target_clipped
    np.testing.assert_allclose(bench.tcp.position - start.position, (0.02, -0.02, 0.02), atol=2e-3)
    assert start.distance(bench.tcp)[1] == pytest.approx(0.1, abs=0.02)


def test_d24_stale_commands_hold_in_physics_time(bench):
    bench.follow(moved(bench.tcp, (0.02, 0, 0)), 0.1)
    bench.arm.step(400)
    assert bench.arm.mode is ArmMode.IMPEDANCE
    assert bench.arm.command_age == pytest.approx(0.5)
    bench.arm.step(2)
    assert bench.arm.mode is ArmMode.HOLD


def test_reset_starts_at_the_measured_pose(bench):
    bench.follow(moved(bench.tcp, (0.05, 0, 0)), 0.5)
    mujoco.mj_resetData(bench.model, bench.data)
    bench.data.qpos[:7] = START_Q + 0.05
    bench.arm.reset()
    start = bench.tcp
    assert bench.arm.peak_force == 0.0
    np.testing.assert_array_equal(bench.arm.commanded_position, start.position)
    bench.arm.step(1000)
    assert start.distance(bench.tcp) == pytest.approx((0, 0), abs=1e-6)


def push(bench) -> np.ndarray:
    bench.follow(moved(bench.tcp, (0.01, 0.02, -0.3), (0.1, 0, 0.2)), 1.5)
    return np.concatenate((bench.data.qpos, bench.data.qvel, bench.arm.wrench))


def test_repeats_exactly(make_bench):
    bench = make_bench()
    first = push(bench)
    np.testing.assert_array_equal(first, push(make_bench()))

    mujoco.mj_resetData(bench.model, bench.data)
    bench.data.qpos[:7] = START_Q
    bench.arm.reset()
    np.testing.assert_array_equal(first, push(bench))


def test_a_controlled_step_is_one_mj_step(bench):
    target = moved(bench.tcp, (0, 0, -0.3))
    twin = mujoco.MjData(bench.model)
    for _ in range(12):
        bench.follow(target, 0.1)
        mujoco.mj_copyData(twin, bench.model, bench.data)
        bench.arm.step(1)
        twin.ctrl[:] = bench.data.ctrl
        mujoco.mj_step(bench.model, twin)
        np.testing.assert_array_equal(twin.qpos, bench.data.qpos)
        np.testing.assert_array_equal(twin.qvel, bench.data.qvel)
    assert bench.data.ncon > 0


def test_poses_and_wrenches_are_in_the_base_frame(make_bench):
    turned = make_bench(Pose.from_rotation_vector((0.3, -1.0, 0.2), (0, 0, 1.2)))
    plain = make_bench()
    target = moved(plain.tcp, (0.01, 0, -0.3), (0, 0, 0.1))
    for bench in (plain, turned):
        bench.follow(target, 1.5)
    np.testing.assert_allclose(turned.arm.tcp_position, plain.arm.tcp_position, atol=1e-6)
    np.testing.assert_allclose(turned.arm.wrench, plain.arm.wrench, atol=1e-2)
    assert plain.arm.wrench[2] > 5.0


def test_gravity_that_the_model_compensates_is_not_added_twice():
    model = build_model(gravcomp=1.0)
    data = mujoco.MjData(model)
    data.qpos[:7] = START_Q
    arm = SimulatedArm(model, data, "tcp", JOINTS, MOTORS, LawParameters())
    start = arm.tcp_position
    arm.step(500)
    np.testing.assert_allclose(arm.tcp_position, start, atol=1e-6)


def test_step_releases_the_gil(bench):
    worker = threading.Thread(target=bench.arm.step, args=(20_000,))
    turns = 0
    worker.start()
    while worker.is_alive():
        turns += 1
    assert turns > 1000


def test_diverged_physics_are_a_fault_until_reset(bench, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warning to a file where it stands
    bench.data.body("peg").xfrc_applied[:3] = 1e15
    bench.arm.step(100)
    assert bench.arm.mode is ArmMode.FAULT
    assert not bench.arm.set_target(np.zeros(3), [0, 0, 0, 1])
    bench.arm.recover()
    bench.arm.step(1)
    assert bench.arm.mode is ArmMode.FAULT

    bench.data.qvel[0] = np.nan
    with pytest.raises(RuntimeError, match="not finite"):
        bench.arm.reset()
    mujoco.mj_resetData(bench.model, bench.data)
    bench.data.qpos[:7] = START_Q
    bench.arm.reset()
    bench.arm.step(10)
    assert bench.arm.mode is ArmMode.IMPEDANCE
    assert np.isfinite(bench.data.qpos).all()


def test_one_libmujoco_in_the_process():
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "libmujoco" in line}
    assert len(libraries) == 1


@pytest.mark.parametrize(
    ("site", "joints", "actuators", "text"),
    [
        ("nowhere", JOINTS, MOTORS, "no site 'nowhere'"),
        ("tcp", JOINTS[:6], MOTORS, "expected 7 joints, got 6"),
        ("tcp", JOINTS, ["x", *MOTORS[1:]], "no actuator 'x'"),
        ("tcp", JOINTS, MOTORS[::-1], "'motor7' is not a motor of gear 1 on its joint"),
        ("tcp", [*JOINTS[:6], "finger_joint1"], MOTORS, "'finger_joint1' is not a hinge"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(bench, site, joints, actuators, text):
    with pytest.raises(ValueError, match=text):
        SimulatedArm(bench.model, bench.data, site, joints, actuators, LawParameters())
