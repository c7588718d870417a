"""Resets are atomic, runs repeat bit for bit, contacts hold."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from serl_controllers.arm import ArmMode, ArmTarget
from serl_controllers.geometry import Pose
from serl_sim.compliance import Compliance
from serl_sim.config import SceneConfig, SceneError
from serl_sim.simulation import Simulation


def bits(state):
    """Every field but the stamp and the count of refusals, which never go back; exact values."""
    values = {}
    for field in dataclasses.fields(state):
        value = getattr(state, field.name)
        if isinstance(value, Pose):
            value = value.to_vector()
        values[field.name] = value.tobytes() if isinstance(value, np.ndarray) else value
    del values["stamp_ns"], values["rejected_commands"]
    return values


def actions(seed, steps):
    """Random actions with a push downwards, so that some of them meet the fixture."""
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        yield np.clip(rng.normal((0, 0, 0.3, 0, 0, 0), 0.5), -1.0, 1.0)


def run(insertion, simulation, seed, steps=30):
    state = simulation.reset(seed, insertion.random_start(seed))
    states = [bits(state)]
    for action in actions(seed, steps):
        state = simulation.step(insertion.target(state, action))
        states.append(bits(state))
    return states


def pressing(simulation, shift, steps=15):
    """Deepest penetration [m] while the tool is pushed along `shift` of its frame [m]."""
    state, deepest = simulation.state(), 0.0
    step = Pose(np.array(shift), np.array((0.0, 0.0, 0.0, 1.0)))
    for _ in range(steps):
        simulation.command(ArmTarget(state.tcp_pose @ step), state.command_seq + 1)
        for _ in range(simulation.ticks_per_period):
            state = simulation.advance(1)
            if simulation.data.ncon:
                deepest = max(deepest, -simulation.data.contact.dist.min())
    return deepest


def test_reset_meets_the_start_at_rest(insertion):
    for seed in range(20):
        start = insertion.random_start(seed)
        state = insertion.simulation.reset(seed, start)
        metres, angle = state.tcp_pose.distance(start)
        assert metres < 1e-4
        assert angle < 1e-3
        assert np.all(state.dq == 0.0)
        assert np.all(state.wrench == 0.0)
        assert state.command_seq == 0
        assert state.mode is ArmMode.IMPEDANCE
        assert state.commanded_pose.distance(state.tcp_pose) == pytest.approx((0, 0), abs=1e-9)


def test_same_seed_same_bits_whatever_came_before(insertion):
    fresh = Simulation(insertion.config, insertion.law)
    first = run(insertion, fresh, seed=5)
    assert run(insertion, fresh, seed=6) != first
    assert run(insertion, fresh, seed=5) == first
    assert run(insertion, insertion.simulation, seed=5) == first


def test_stamps_grow_by_the_period_and_never_repeat(simulation):
    target = ArmTarget(simulation.state().tcp_pose)
    stamps = []
    for seed in range(2):
        stamps.append(simulation.reset(seed).stamp_ns)
        stamps += [simulation.step(target).stamp_ns for _ in range(3)]
    assert np.all(np.diff(stamps) == 100_000_000)


def test_commands_are_counted_from_one_or_by_the_caller(simulation):
    target = ArmTarget(simulation.state().tcp_pose)
    assert [simulation.step(target).command_seq for _ in range(2)] == [1, 2]
    assert simulation.step(target, command_seq=9).command_seq == 9
    assert simulation.reset(0).command_seq == 0


def test_hidden_offset_fills_its_disc_and_stays_within(insertion):
    simulation = insertion.simulation
    lateral, angles = [], []
    for seed in range(200):
        state = simulation.reset(seed)
        offset = state.tcp_pose.inverse() @ simulation.connector_pose()
        assert offset.position[2] == pytest.approx(0.0, abs=1e-9)
        lateral.append(offset.position[:2])
        angles.append(np.degrees(np.linalg.norm(offset.rotation_vector)))
    radii = np.linalg.norm(lateral, axis=1)
    assert radii.max() <= 0.001
    assert max(angles) <= 1.0
    # Uniform in a disc: half of it lies beyond 0.71 of the radius.
    assert np.mean(radii > 0.001 / np.sqrt(2)) == pytest.approx(0.5, abs=0.1)
    assert np.mean(angles) == pytest.approx(0.5, abs=0.1)
    assert np.linalg.norm(np.mean(lateral, axis=0)) < 0.0002


def test_without_randomisation_the_plug_is_straight(simulation):
    state = simulation.reset(7, randomise=False)
    assert simulation.connector_pose().distance(state.tcp_pose) == pytest.approx((0, 0), abs=1e-9)


def test_arm_stays_where_it_is_told(simulation):
    start = simulation.state()
    for _ in range(20):
        state = simulation.step(ArmTarget(start.tcp_pose))
    metres, angle = state.tcp_pose.distance(start.tcp_pose)
    assert metres < 5e-4
    assert angle < 2e-3
    assert np.linalg.norm(state.wrench) == 0.0


def test_straight_plug_goes_in_and_sits_at_the_target(insertion, simulation):
    target = insertion.config.target
    state = simulation.state()
    for s in np.linspace(0.0, 1.0, 30):
        goal = insertion.config.nominal_start.interpolate(target, s)
        state = simulation.step(ArmTarget(goal))
    for _ in range(10):
        state = simulation.step(ArmTarget(target @ Pose(np.array((0, 0, 0.002)), (0, 0, 0, 1))))
    assert insertion.succeeded(state)
    tool = insertion.tool_in_fixture(state)
    assert abs(tool.position[2]) < 0.0002
    assert np.all(np.abs(tool.position[:2]) < insertion.config.clearance + 0.0002)
    assert state.wrench[2] > 3.0  # the board pushes back


@pytest.mark.parametrize(
    "push",
    [(0, 0, 0.01), (0.007, 0, 0.01), (-0.007, 0.007, 0.01)],
    ids=["down on the rim", "down and along x", "down and across"],
)
def test_contact_holds_against_the_fixture(insertion, simulation, push):
    """1 mm beside the slot, as far as the law pushes: less than 0.2 mm deep."""
    beside = insertion.config.target @ Pose(np.array((0.002, 0.001, -0.0085)), (0, 0, 0, 1))
    simulation.reset(0, beside, randomise=False)
    deepest = pressing(simulation, push)
    assert 0.0 < deepest < 2e-4


def test_contact_holds_in_the_slot(insertion, simulation):
    seated = insertion.config.target @ Pose(np.array((0, 0, -0.001)), (0, 0, 0, 1))
    for push in ((0.01, 0, 0), (-0.01, 0.01, 0), (0, -0.01, 0.01)):
        simulation.reset(0, seated, randomise=False)
        assert 0.0 < pressing(simulation, push) < 2e-4


@pytest.mark.parametrize("position", [(np.nan, 0.0, 0.1), (np.inf, 0.0, 0.1)])
def test_command_that_is_not_finite_is_refused_and_the_arm_holds(simulation, position):
    before = simulation.step(ArmTarget(simulation.state().tcp_pose))
    bad = Pose(np.array(position), np.array((0.0, 0.0, 0.0, 1.0)))
    state = simulation.step(ArmTarget(bad))
    assert state.rejected_commands == before.rejected_commands + 1
    assert state.command_seq == before.command_seq
    assert state.mode is ArmMode.HOLD
    assert state.tcp_pose.distance(before.tcp_pose)[0] < 5e-4
    assert simulation.step(ArmTarget(state.tcp_pose)).mode is ArmMode.IMPEDANCE


def test_refused_reset_leaves_the_episode_as_it_was(insertion, simulation):
    reference = Simulation(insertion.config, insertion.law)
    states = []
    for tried in (False, True):
        sim = reference
        state = sim.reset(3, insertion.random_start(3))
        for action in actions(3, 10):
            state = sim.step(insertion.target(state, action))
        if tried:
            with pytest.raises(SceneError, match="does not reach"):
                sim.reset(4, Pose.from_rpy((1.5, 0, 0.2), (np.pi, 0, 0)))
        for action in actions(4, 5):
            state = sim.step(insertion.target(state, action))
        states.append(bits(state))
    assert states[0] == states[1]


class Witness:
    """Looks and watcher that write down what they are asked for."""

    every = 10**6

    def __init__(self):
        self.said = []

    def begin(self, *asked):
        self.said.append(asked)

    def look(self):
        raise AssertionError("not so soon")


def test_an_episode_is_dressed_before_anyone_looks_and_a_refused_one_never(simulation):
    witness = Witness()
    simulation.dress(witness)
    simulation.watch(witness)
    try:
        simulation.reset(5)
        simulation.reset(6, randomise=False)
        with pytest.raises(SceneError):
            simulation.reset(7, Pose.from_rpy((1.4, 0, 0.1), (np.pi, 0, 0)))
    finally:
        simulation.dress(None)
        simulation.watch(None)
    assert witness.said == [(5, True), (), (6, False), ()]
    simulation.reset(8)
    assert len(witness.said) == 4


def test_start_inside_the_fixture_is_refused(insertion, simulation):
    inside = insertion.config.target @ Pose(np.array((0.004, 0, -0.004)), (0, 0, 0, 1))
    with pytest.raises(SceneError, match="mm deep in the fixture"):
        simulation.reset(0, inside, randomise=False)


def test_control_period_is_a_whole_number_of_ticks():
    config = SceneConfig()
    with pytest.raises(SceneError, match=r"control_period is 0\.0005"):
        Simulation(config, Compliance().law_parameters(config.target), control_period=0.0005)
