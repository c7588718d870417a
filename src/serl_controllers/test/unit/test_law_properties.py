"""What the law promises for any input, searched for by hypothesis."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from serl_controllers import LawParameters
from serl_controllers._binding import ImpedanceLaw, LawState
from serl_controllers.arm import ArmMode

DT = 1e-3  # [s]
RANGE = (np.full(7, -2.8), np.full(7, 2.8))  # [rad]
AT_ONCE = {"target_time_constant": 0.0, "gain_time_constant": 0.0}
STRONG = {"torque_rate_limit": 100.0, "torque_limit": (87.0,) * 7}

# Joints 1-6 are the axes of the base frame: torque 1-6 is the wrench.
CARTESIAN = np.eye(6, 7)
ZERO = np.zeros(7)

UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no fault of the law."""


def vectors(size: int, largest: float):
    return arrays(np.float64, size, elements=st.floats(-largest, largest))


def any_floats(shape):
    return arrays(np.float64, shape, elements=st.floats(allow_nan=True, allow_infinity=True))


def finite_floats(shape):
    return arrays(np.float64, shape, elements=st.floats(allow_nan=False, allow_infinity=False))


quaternions = (
    vectors(4, 1.0).filter(lambda q: np.linalg.norm(q) > 0.1).map(lambda q: q / np.linalg.norm(q))
)
jacobians = arrays(np.float64, (6, 7), elements=st.floats(-1.0, 1.0))


def states(floats) -> st.SearchStrategy[LawState]:
    return st.builds(
        LawState, floats(7), floats(7), floats(3), floats(4), floats((6, 7)), floats(7)
    )


def at_rest(position, quaternion, jacobian=CARTESIAN, q=None) -> LawState:
    return LawState(ZERO if q is None else q, ZERO, position, quaternion, jacobian, np.zeros(7))


@UNTIMED
@given(vectors(7, 2.6), vectors(3, 1.0), quaternions, jacobians)
def test_an_arm_at_rest_on_its_target_gets_no_torque(q, position, quaternion, jacobian):
    state = at_rest(position, quaternion, jacobian, q)
    law = ImpedanceLaw(LawParameters(), RANGE)
    law.reset(state)
    for _ in range(3):
        np.testing.assert_allclose(law.update(state, DT), 0.0, atol=1e-9)


@UNTIMED
@given(vectors(7, 0.02), vectors(3, 1.0), quaternions, jacobians)
def test_moving_on_the_target_power_only_leaves_the_arm(dq, position, quaternion, jacobian):
    law = ImpedanceLaw(LawParameters(**STRONG))
    law.reset(at_rest(position, quaternion, jacobian))
    moving = LawState(np.zeros(7), dq, position, quaternion, jacobian, np.zeros(7))
    torque = law.update(moving, DT)
    assert np.abs(torque).max() < 87.0  # limits, per joint, would turn the vector
    assert dq @ torque <= 1e-9


@UNTIMED
@given(vectors(3, 2.0), quaternions, vectors(3, 2.0), quaternions)
def test_force_never_exceeds_stiffness_times_clip(start, turn, target, target_turn):
    p = LawParameters(nullspace_stiffness=0.0, **AT_ONCE, **STRONG)
    state = at_rest(start, turn)
    law = ImpedanceLaw(p)
    law.reset(state)
    assert law.set_target(target, target_turn)
    highest = np.array(p.stiffness) * np.maximum(p.clip_positive, p.clip_negative)
    for _ in range(3):
        assert (np.abs(law.update(state, DT)[:6]) <= highest + 1e-9).all()


@UNTIMED
@given(vectors(3, 1.0), quaternions, vectors(3, 1.0), quaternions, jacobians)
def test_target_q_and_minus_q_give_the_same_torque(start, turn, target, target_turn, jacobian):
    state = at_rest(start, turn, jacobian)
    torques = []
    for sign in (1.0, -1.0):
        law = ImpedanceLaw(LawParameters())
        law.reset(state)
        assert law.set_target(target, sign * target_turn)
        torques.append([law.update(state, DT) for _ in range(20)])
    np.testing.assert_allclose(torques[0], torques[1], atol=1e-9)


@UNTIMED
@given(st.data())
def test_torque_changes_by_at_most_the_rate_limit_whatever_comes(data):
    p = LawParameters()
    other = LawParameters(stiffness=(0.0,) * 6, torque_limit=(1.0,) * 7)
    law = ImpedanceLaw(p, RANGE)
    inputs = st.one_of(
        states(any_floats),
        states(lambda shape: arrays(np.float64, shape, elements=st.floats(-3, 3))),
    )
    last = np.zeros(7)
    law.reset(data.draw(inputs))
    for _ in range(4):
        event = data.draw(st.sampled_from(["none", "target", "recover", "soften"]))
        if event == "target":
            law.set_target(data.draw(any_floats(3)), data.draw(any_floats(4)))
        elif event == "recover":
            law.recover()
        elif event == "soften":
            law.set_parameters(other)
        torque = law.update(data.draw(inputs), data.draw(st.floats()))
        assert np.abs(torque - last).max() <= p.torque_rate_limit + 1e-12
        last = torque


@UNTIMED
@given(states(finite_floats), finite_floats(3), quaternions, states(finite_floats), st.floats())
def test_no_finite_input_gives_a_torque_that_is_not_finite(start, target, turn, state, dt):
    law = ImpedanceLaw(LawParameters(), RANGE)
    law.reset(start)
    law.set_target(target, turn)
    for _ in range(2):
        assert np.isfinite(law.update(state, dt)).all()
    assert law.mode in (ArmMode.IMPEDANCE, ArmMode.HOLD, ArmMode.FAULT)
