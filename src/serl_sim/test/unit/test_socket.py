"""The socket is moved at resets, with all that touches."""

from __future__ import annotations

import numpy as np
import pytest

from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_sim.config import SceneConfig, SceneError
from serl_sim.simulation import Simulation

UPRIGHT = np.array((0.0, 0.0, 0.0, 1.0))
DOWN = Pose(np.array((0.0, 0.0, 0.004)), UPRIGHT)


def over(pose, height):
    """A tool pose over a fixture [m]."""
    return pose @ Pose(np.array((0.0, 0.0, -height)), UPRIGHT)


def seed_with_rim_at_target(moved):
    """A seed that moves the socket so that its rim is where its slot was."""
    target = moved.config.target
    for seed in range(100):
        moved.simulation.reset(seed)
        x, y, _ = np.abs((target.inverse() @ moved.simulation.fixture).position)
        if x < 0.010 and 0.007 < y < 0.010:
            return seed
    raise AssertionError("no seed moves the socket so")


def push_down(simulation, start, seed):
    """The state after a push from `start`."""
    state = simulation.reset(seed, start)
    for _ in range(25):
        state = simulation.step(ArmTarget(state.tcp_pose @ DOWN))
    return state


def test_it_is_drawn_for_every_seed_uniformly_and_not_turned(moved):
    target, shifts = moved.config.target, []
    for seed in range(200):
        moved.simulation.reset(seed)
        shift = target.inverse() @ moved.simulation.fixture
        assert shift.position[2] == pytest.approx(0.0, abs=1e-12)
        assert np.linalg.norm(shift.rotation_vector) < 1e-12
        shifts.append(shift.position[:2])
    assert np.abs(shifts).max() <= 0.015
    assert np.abs(shifts).max() > 0.0145
    # Uniform: the mean distance from the middle is half of the largest, each way.
    np.testing.assert_allclose(np.mean(np.abs(shifts), axis=0), 0.0075, atol=0.001)
    np.testing.assert_allclose(np.mean(shifts, axis=0), 0.0, atol=0.002)
    assert abs(np.corrcoef(np.transpose(shifts))[0, 1]) < 0.2


def test_the_hidden_offset_is_the_same_with_and_without_it(insertion, moved):
    """Their draws are apart: whether the socket moves changes nothing of the rest."""
    for seed in range(5):
        offsets = []
        for scene in (insertion, moved):
            state = scene.simulation.reset(seed)
            offsets.append(state.tcp_pose.inverse() @ scene.simulation.connector_pose())
        assert offsets[0].distance(offsets[1]) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_it_stays_at_the_target_unless_asked_for(insertion, moved):
    for simulation, randomise in ((insertion.simulation, True), (moved.simulation, False)):
        simulation.reset(3, randomise=randomise)
        target = simulation.config.target
        np.testing.assert_array_equal(simulation.fixture.to_vector(), target.to_vector())


def test_the_plug_goes_in_where_the_socket_is_and_nowhere_else(moved):
    simulation, seed = moved.simulation, seed_with_rim_at_target(moved)
    in_hand = simulation.reset(seed).tcp_pose.inverse() @ simulation.connector_pose()
    fixture, target = simulation.fixture, moved.config.target

    def depth(socket):
        """Of the tip over the slot's bottom after a push at `socket` [m]."""
        push_down(simulation, over(socket, 0.012) @ in_hand.inverse(), seed)
        return -(socket.inverse() @ simulation.connector_pose()).position[2]

    assert depth(fixture) == pytest.approx(0.0, abs=0.001)
    assert depth(target) == pytest.approx(moved.config.slot_depth, abs=0.001)


def test_a_refused_reset_leaves_everything_as_it_was(moved):
    simulation = moved.simulation
    simulation.reset(4)
    simulation.step(ArmTarget(simulation.state().tcp_pose @ DOWN))
    before = (simulation.fixture.to_vector(), simulation.connector_pose().to_vector())
    data = [getattr(simulation.data, name).copy() for name in ("qpos", "qvel", "geom_xpos")]
    place = simulation.model.body("fixture").pos.copy()
    inside = over(moved.config.target, -0.004)
    for start in (inside, Pose.from_rpy((1.4, 0.0, 0.1), (np.pi, 0.0, 0.0))):
        with pytest.raises(SceneError):
            simulation.reset(5, start)
    np.testing.assert_array_equal(simulation.fixture.to_vector(), before[0])
    np.testing.assert_array_equal(simulation.connector_pose().to_vector(), before[1])
    np.testing.assert_array_equal(simulation.model.body("fixture").pos, place)
    for name, value in zip(("qpos", "qvel", "geom_xpos"), data, strict=True):
        np.testing.assert_array_equal(getattr(simulation.data, name), value)


def test_same_seed_same_states_with_contacts(moved):
    def run(simulation):
        simulation.reset(8)
        return push_down(simulation, over(simulation.fixture, 0.012), 8)

    first, again = run(moved.simulation), run(Simulation(moved.config, moved.law))
    np.testing.assert_array_equal(first.q, again.q)
    np.testing.assert_array_equal(first.wrench, again.wrench)


def test_a_move_off_the_table_is_refused():
    with pytest.raises(SceneError, match=r"socket_random_xy is 0.2 m, expected at most 0.05 m"):
        SceneConfig(socket_random_xy=0.2)
    with pytest.raises(SceneError, match=r"socket_random_xy is -0.01, expected at least 0"):
        SceneConfig(socket_random_xy=-0.01)
