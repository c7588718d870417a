"""The pick scene: the block is drawn, gripped by friction, carried and let go; runs repeat."""

from __future__ import annotations

import math

import numpy as np
import pytest

from serl_controllers.arm import ArmTarget
from serl_controllers.geometry import Pose
from serl_sim.config import SceneConfig, SceneError
from serl_sim.gripper import TRAVEL
from serl_sim.scene import make_kind

UPRIGHT = np.array((0.0, 0.0, 0.0, 1.0))
CLOSED_ON_BLOCK = 0.03 / (2 * TRAVEL)


def go(picking, place, steps, gripper=None):
    """The state after so many steps towards a tool pose of the fixture's frame [m]."""
    simulation = picking.simulation
    goal = simulation.fixture @ Pose(np.array(place), UPRIGHT)
    state = simulation.state()
    for _ in range(steps):
        left = state.tcp_pose.inverse() @ goal
        step = Pose.from_rotation_vector(
            np.clip(left.position, -0.02, 0.02), np.clip(left.rotation_vector, -0.06, 0.06)
        )
        state = simulation.step(ArmTarget(state.tcp_pose @ step, gripper))
    return state


def block(picking):
    """T_fixture_block."""
    return picking.simulation.fixture.inverse() @ picking.simulation.object


def over(picking, height):
    """Where the tool is that much over the block, in the fixture's frame [m]."""
    x, y, z = block(picking).position
    return (x, y, z - height)


def grasp(picking, seed):
    """The state with the block between the fingers."""
    picking.simulation.reset(seed)
    go(picking, over(picking, 0.05), 12)
    go(picking, over(picking, 0.0), 8)
    return go(picking, over(picking, 0.0), 4, gripper=0.0)


def recorded(picking, seed):
    """All that is measured in an episode that grips, lifts and lets go: bits."""
    simulation, kept = picking.simulation, []

    def keep(state):
        block = simulation.object.to_vector()
        kept.append(np.concatenate((state.q, state.wrench, (state.gripper,), block)))
        return state

    simulation.reset(seed, picking.random_start(seed))
    keep(go(picking, over(picking, 0.0), 12))
    keep(go(picking, over(picking, 0.0), 3, gripper=0.0))
    keep(go(picking, over(picking, 0.05), 5))
    keep(go(picking, over(picking, 0.05), 3, gripper=1.0))
    return kept


def test_same_seed_same_bits(picking):
    first = recorded(picking, 3)
    recorded(picking, 4)
    again = recorded(picking, 3)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


def test_the_block_lies_at_rest_somewhere_in_its_square(picking):
    config, places = picking.config, []
    for seed in range(60):
        state = picking.simulation.reset(seed)
        before = block(picking)
        assert before.position[2] == pytest.approx(config.pad_height, abs=1e-9)
        assert np.linalg.norm(before.rotation_vector) < 1e-9
        assert state.gripper == 1.0
        places.append(before.position[:2] - config.block_offset)
    picking.simulation.step(ArmTarget(state.tcp_pose))
    assert block(picking).distance(before) == pytest.approx((0.0, 0.0), abs=1e-4)
    assert np.abs(places).max() <= config.block_random_xy
    assert np.abs(places).max() > 0.9 * config.block_random_xy
    np.testing.assert_allclose(np.mean(places, axis=0), 0.0, atol=0.006)
    assert abs(np.corrcoef(np.transpose(places))[0, 1]) < 0.3


def test_without_randomisation_it_lies_where_it_is_configured(picking):
    picking.simulation.reset(5, randomise=False)
    np.testing.assert_allclose(block(picking).position[:2], picking.config.block_offset, atol=1e-9)


def test_the_gripper_closes_and_opens_and_the_state_says_how_far(picking):
    simulation = picking.simulation
    pose = simulation.reset(0).tcp_pose

    def openings(gripper, steps):
        return [simulation.step(ArmTarget(pose, gripper)).gripper for _ in range(steps)]

    closing = openings(0.0, 6)
    assert np.all(np.diff(closing) < 0.0)
    assert 0.5 < closing[0] < 0.9, "it takes its time"
    assert closing[-1] < 0.02
    assert openings(None, 1)[0] < 0.02, "left as it is"
    assert openings(0.5, 6)[-1] == pytest.approx(0.5, abs=0.01)
    assert openings(7.0, 6)[-1] == pytest.approx(1.0, abs=0.01), "more than open is open"
    assert simulation.reset(0).gripper == 1.0


def test_a_refused_command_does_not_move_the_gripper(picking):
    simulation = picking.simulation
    pose = simulation.reset(0).tcp_pose
    bad = Pose(np.array((np.nan, 0.0, 0.1)), pose.quaternion)
    assert simulation.step(ArmTarget(bad, 0.0)).gripper == pytest.approx(1.0, abs=1e-3)


def test_it_grips_carries_and_lets_go(picking):
    state = grasp(picking, seed=1)
    assert state.gripper == pytest.approx(CLOSED_ON_BLOCK, abs=0.01)
    held = state.tcp_pose.inverse() @ picking.simulation.object
    assert np.linalg.norm(held.position) < 0.003
    go(picking, over(picking, 0.05), 6)
    state = go(picking, (0.0, 0.0, -0.03), 20)
    carried = state.tcp_pose.inverse() @ picking.simulation.object
    assert carried.distance(held)[0] < 0.001, "it slips"
    assert carried.distance(held)[1] < 0.02, "it turns"
    weight = 9.81 * picking.config.block_mass
    assert state.wrench[2] == pytest.approx(-weight, abs=0.1)
    assert not picking.solved(state), "it has not let go"
    go(picking, (0.0, 0.0, -0.003), 6)
    state = go(picking, (0.0, 0.0, -0.003), 4, gripper=1.0)
    assert state.gripper > 0.9
    assert picking.solved(state)
    state = go(picking, (0.0, 0.0, -0.05), 8)
    placed = block(picking)
    assert np.abs(placed.position[:2]).max() < 0.004
    assert placed.position[2] == pytest.approx(0.0, abs=0.0005)
    assert np.linalg.norm(state.wrench[:3]) < 1e-6


def test_let_go_in_the_air_it_falls(picking):
    grasp(picking, seed=2)
    go(picking, over(picking, 0.06), 8)
    assert block(picking).position[2] < -0.02
    go(picking, over(picking, 0.0), 6, gripper=1.0)
    assert block(picking).position[2] == pytest.approx(picking.config.pad_height, abs=0.002)


def test_pushing_does_not_solve_it(picking):
    """The pad is too high."""
    picking.simulation.reset(0, randomise=False)
    x, y, z = block(picking).position
    go(picking, (x, y + 0.03, z - 0.05), 12, gripper=0.0)
    go(picking, (x, y + 0.03, z), 6)
    state = go(picking, (0.0, 0.0, z), 20)
    assert block(picking).position[1] < y - 0.02, "it was not even pushed"
    assert block(picking).position[2] > 0.015
    assert not picking.solved(go(picking, (0.0, 0.0, z), 4, gripper=1.0)), state.gripper


def test_a_start_in_the_table_is_refused_and_the_episode_goes_on(picking):
    simulation = picking.simulation
    simulation.reset(1)
    before = simulation.object.to_vector()
    inside = simulation.fixture @ Pose(np.array((0.0, 0.0, 0.03)), UPRIGHT)
    with pytest.raises(SceneError, match="mm deep in the gripper"):
        simulation.reset(2, inside)
    np.testing.assert_array_equal(simulation.object.to_vector(), before)


def test_all_is_level_if_the_tool_is_not(picking):
    aslant = type(picking)(SceneConfig(kind="pick", start_height=0.06))
    tilt = aslant.config.target.rotate((0.0, 0.0, 1.0))
    assert np.hypot(tilt[0], tilt[1]) > 0.02
    state = aslant.simulation.reset(0)
    before = aslant.simulation.object
    assert before.rotate((0.0, 0.0, 1.0)) == pytest.approx((0.0, 0.0, -1.0), abs=1e-9)
    aslant.simulation.step(ArmTarget(state.tcp_pose))
    assert aslant.simulation.object.distance(before) == pytest.approx((0.0, 0.0), abs=1e-4)


def test_the_pad_moves_if_it_shall():
    kind = make_kind(SceneConfig(kind="pick", socket_random_xy=0.01))
    drawn = [kind.draw(seed) for seed in range(20)]
    shifts = np.array([d.fixture.position for d in drawn]) - kind.draw(None).fixture.position
    assert 0.005 < np.abs(shifts[:, :2]).max() <= 0.01
    assert np.abs(shifts[:, 2]).max() < 1e-9
    stays = make_kind(SceneConfig(kind="pick")).draw(7)
    np.testing.assert_array_equal(kind.draw(7).object.to_vector(), stays.object.to_vector())


def test_an_insertion_knows_no_object_and_no_gripper(simulation):
    assert simulation.object is None
    state = simulation.state()
    closed = simulation.step(ArmTarget(state.tcp_pose, 0.0))
    assert closed.gripper == state.gripper
    assert simulation.model.nq == simulation.model.nu == 7


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        ({"kind": "place"}, "kind is 'place', expected insertion or pick"),
        ({"block_mass": 0.0}, "block_mass is 0.0"),
        ({"block_size": 0.07}, r"block_size is 0\.07 m, expected at most 0\.06"),
        ({"block_offset": (0.0, 0.08)}, r"leaves -0\.023 m between the pad"),
        ({"socket_random_xy": 0.03}, r"socket_random_xy, 0\.03 m"),
        ({"block_offset": (math.nan, 0.1)}, "block_offset is"),
    ],
)
def test_a_scene_that_makes_no_sense_is_refused(bad, shown):
    with pytest.raises(SceneError, match=shown):
        SceneConfig(**({"kind": "pick"} | bad))
