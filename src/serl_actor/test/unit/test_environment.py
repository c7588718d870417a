"""The Gymnasium environment over a kinematic arm."""

from __future__ import annotations

import logging
import math
import warnings

import gymnasium
import numpy as np
import pytest
from conftest import FakeArm, action_to_target, make_state, with_steps
from gymnasium.utils.env_checker import check_env

from serl_actor.environment import Environment
from serl_actor.intervention import BASE_FRAME, Intervention
from serl_actor.observation import KEYS, ObservationScale, observe
from serl_actor.robot_client import ArmFault, StaleState
from serl_controllers.arm import ArmMode
from serl_controllers.geometry import Pose
from serl_learner.types import Source

STILL = np.zeros(6)


def go_next_to_target(environment: Environment, steps_away: int = 0) -> None:
    """Steps until `steps_away` more steps would solve the task."""
    pose, count = environment.state.tcp_pose, 0
    while not environment.task.is_solved(pose):
        pose = environment._action_scale.target(pose, action_to_target(environment.task, pose))
        count += 1
    for _ in range(count - steps_away):
        environment.step(action_to_target(environment.task, environment.state.tcp_pose))


def test_gymnasium_is_content(environment):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unbounded observations and the missing registration
        check_env(environment, skip_render_check=True)


def test_a_seed_gives_the_same_start_and_scene(arm, environment):
    first, _ = environment.reset(seed=7)
    again, _ = environment.reset(seed=7)
    other, _ = environment.reset(seed=8)
    for key in KEYS:
        np.testing.assert_array_equal(first[key], again[key])
    assert not np.array_equal(first["state/tcp_pose"], other["state/tcp_pose"])
    assert arm.starts[0][1] == arm.starts[1][1] != arm.starts[2][1]


def test_without_a_seed_the_starts_go_on(arm, environment):
    environment.reset(seed=7)
    environment.reset()
    second = arm.starts[1]
    environment.reset(seed=7)
    environment.reset()
    assert arm.starts[3][1] == second[1]
    assert max(arm.starts[3][0].distance(second[0])) < 1e-12


def test_starts_cover_the_range_and_stay_in_the_box(environment, task):
    rng = np.random.default_rng(0)
    starts = [task.target.inverse() @ task.draw_start(rng) for _ in range(300)]
    xy = np.array([s.position[:2] for s in starts])
    yaw = np.array([s.rotation_vector[2] for s in starts])
    assert 0.045 < np.abs(xy).max() < 0.0512
    assert math.radians(18) < np.abs(yaw).max() <= math.radians(20) + 1e-9


def test_d02_the_start_has_the_pitch_that_was_configured(task):
    """rpy (a, b, c) comes out as (a, b, c): no sign of the pitch is lost on the way."""
    roll, pitch, yaw = task.target_rpy
    q = task.target.quaternion
    assert math.asin(2 * (q[3] * q[1] - q[2] * q[0])) == pytest.approx(pitch, abs=1e-9)
    matrix = task.target.rotation_matrix
    assert math.atan2(matrix[2, 1], matrix[2, 2]) == pytest.approx(roll, abs=1e-9)
    assert math.atan2(matrix[1, 0], matrix[0, 0]) == pytest.approx(yaw, abs=1e-9)


def test_case_01_d05_the_time_limit_truncates(arm, task):
    environment = Environment(arm, with_steps(task, 3))
    environment.reset(seed=0)
    outcomes = [environment.step(STILL)[1:4] for _ in range(3)]
    assert outcomes == [(0.0, False, False), (0.0, False, False), (0.0, False, True)]


def test_case_01_success_on_the_very_last_step_terminates(arm, task):
    environment = Environment(arm, task)
    environment.reset(seed=0)
    go_next_to_target(environment, steps_away=1)
    environment.task = with_steps(task, environment._steps + 1)
    _, reward, terminated, truncated, info = environment.step(
        action_to_target(task, environment.state.tcp_pose)
    )
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_d14_reward_is_one_exactly_when_terminated(environment, task):
    environment.reset(seed=0)
    for _ in range(task.episode_steps):
        action = action_to_target(task, environment.state.tcp_pose)
        _, reward, terminated, _, info = environment.step(action)
        assert (reward == 1.0) is terminated is info["success"]
        if terminated:
            return
    pytest.fail("the target was not reached")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_case_02_an_action_that_is_not_finite_holds_the_pose(arm, environment, value, caplog):
    environment.reset(seed=0)
    before = environment.state.tcp_pose
    with caplog.at_level(logging.WARNING):
        *_, info = environment.step(np.array((0.5, value, 0, 0, 0, 0)))
    assert info["executed_action"] is None
    assert info["refused"]
    assert environment.refused_actions == 1
    assert max(arm.targets[-1].pose.distance(before)) < 1e-12
    assert "not finite" in caplog.text


def test_an_intervention_that_is_not_finite_is_refused_as_well(environment):
    environment.reset(seed=0)
    push = Intervention(0, True, np.array((math.nan, 0, 0, 0, 0, 0)), BASE_FRAME)
    *_, info = environment.step(STILL, push)
    assert info["refused"]


def test_case_12_an_active_intervention_is_executed_clipped(arm, environment, task):
    environment.reset(seed=0)
    before = environment.state.tcp_pose
    push = Intervention(0, True, np.array((0.0, 0.0, 5.0, 0.0, 0.0, 0.0)), device="test")
    *_, info = environment.step(np.array((1.0, 0, 0, 0, 0, 0)), push)
    np.testing.assert_allclose(info["executed_action"], (0, 0, 1, 0, 0, 0), atol=1e-6)
    assert info["source"] is Source.INTERVENTION
    assert before.distance(arm.targets[-1].pose)[0] == pytest.approx(task.translation_scale)


def test_an_idle_operator_does_not_intervene(environment):
    environment.reset(seed=0)
    *_, info = environment.step(STILL, Intervention(0, False, np.ones(6)))
    assert info["source"] is Source.POLICY
    np.testing.assert_array_equal(info["executed_action"], STILL)


def test_a_stale_state_holds_the_arm_and_ends_the_episode(task):
    arm = FakeArm(errors={1: StaleState("no state for 0.5 s, limit 0.2 s")})
    environment = Environment(arm, task)
    environment.reset(seed=0)
    environment.step(STILL)
    with pytest.raises(StaleState, match=r"0\.2 s"):
        environment.step(STILL)
    assert arm.holds == 1
    with pytest.raises(gymnasium.error.ResetNeeded):
        environment.step(STILL)


@pytest.mark.parametrize("mode", [ArmMode.REFLEX, ArmMode.FAULT, ArmMode.IDLE])
def test_d20_a_reflex_is_reported_and_never_cleared_by_going_on(task, mode):
    arm = FakeArm(modes={0: mode})
    environment = Environment(arm, task)
    environment.reset(seed=0)
    with pytest.raises(ArmFault, match=mode.name) as caught:
        environment.step(STILL)
    assert "arm/recover" in caught.value.waiting_for
    assert arm.holds == 1


def test_the_observation_is_in_the_fixtures_frame(task):
    """25 mm above the socket, turned by 0.35 rad, pushed sideways: worked by hand."""
    fixture = Pose.from_rpy((0.5, 0.0, 0.1), (math.pi, 0.0, 0.0))  # z down
    tool = Pose.from_rpy((0.5, 0.0, 0.125), (math.pi, 0.0, -0.35))
    commanded = Pose.from_rpy((0.505, 0.0, 0.125), (math.pi, 0.0, -0.35))
    state = make_state(
        tool,
        commanded_pose=commanded,
        tcp_twist=np.array((0.0, 0.1, 0.0, 0.0, 0.0, 0.5)),
        wrench=np.array((0.0, 0.0, 10.0, 0.0, 0.0, 0.0)),
    )
    seen = observe(state, fixture, ObservationScale())
    np.testing.assert_allclose(seen["state/tcp_pose"], (0, 0, -0.5, 0, 0, 1), atol=1e-6)
    np.testing.assert_allclose(seen["state/tcp_twist"], (0, -1, 0, 0, 0, -1), atol=1e-6)
    wrench = np.array((0, 0, -math.tanh(1), 0, 0, 0))
    np.testing.assert_allclose(seen["state/wrench"], wrench, atol=1e-6)
    np.testing.assert_allclose(seen["state/target_offset"], (1, 0, 0, 0, 0, 0), atol=1e-6)
    assert {v.dtype.name for v in seen.values()} == {"float32"}
    assert tuple(sorted(seen)) == KEYS


def test_d01_the_fixtures_place_does_not_leak_into_velocities(task):
    """An adjoint for [w; v] would add p x v to the rotation."""
    twist = np.array((0.1, 0.0, 0.0, 0.0, 0.0, 0.0))
    near = observe(make_state(task.target, tcp_twist=twist), task.target, ObservationScale())
    np.testing.assert_allclose(near["state/tcp_twist"][3:], 0.0, atol=1e-7)
