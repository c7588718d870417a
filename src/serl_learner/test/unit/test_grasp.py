"""The grasp critic: its target and losses by hand, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from toy import SMALL, random_batch, same

from serl_learner import losses
from serl_learner.agents import grasp as grasps
from serl_learner.agents.config import GraspConfig, SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.gripper_hand import GRIPPER
from serl_learner.learner import LearnerConfig
from serl_learner.networks.state_vector import state_vector
from serl_learner.policy import Policy
from serl_learner.trainer import SessionConfig, Trainer

SPEC = {"state/a": ((2,), "float32"), GRIPPER: ((2,), "float32")}
ALONE = replace(SMALL, critics=2, learning_rate=1e-2)
GRASP = replace(ALONE, grasp=GraspConfig(enabled=True))
ARM_DIM = 2
OPEN, CLOSED = (True, True, False), (False, True, True)

update_critic = jax.jit(SACAgent.update_critic)
update_actor = jax.jit(SACAgent.update_actor)
clone = jax.jit(SACAgent.update_by_cloning)


def create(config: SACConfig = GRASP, dim: int = ARM_DIM + 1, seed: int = 0) -> SACAgent:
    return SACAgent.create(jax.random.PRNGKey(seed), SPEC, dim, config)


def batch(size: int = 8, seed: int = 0) -> dict:
    """Random transitions of an arm and a gripper, which is open in every other one."""
    rng = np.random.default_rng(seed)
    made = random_batch(size, seed)

    def observation(source: dict, is_open: np.ndarray) -> dict:
        gripper = np.where(is_open, 1.0, -1.0).astype(np.float32)
        return {"state/a": source["state/a"], GRIPPER: np.stack([gripper, gripper], axis=-1)}

    was_open = np.arange(size) % 2 == 0
    toggle = rng.integers(0, 2, size) * np.where(was_open, -1, 1)
    is_open = np.where(toggle == 0, was_open, toggle > 0)
    return made | {
        "observation": observation(made["observation"], was_open),
        "next_observation": observation(made["next_observation"], is_open),
        "action": np.column_stack([made["action"], toggle]).astype(np.float32),
    }


# Target and losses


def test_the_trained_network_chooses_and_the_target_network_says_what_that_is_worth() -> None:
    online = jnp.array([[0.9, 0.1, 0.2], [0.9, 0.1, 0.2], [0.5, 0.6, 0.1]])
    target = jnp.array([[0.3, 0.8, 0.7], [0.3, 0.8, 0.7], [0.0, 0.4, 1.0]])
    allowed = jnp.array([OPEN, CLOSED, OPEN])
    found = losses.grasp_target(
        jnp.array([-0.02, 0.0, 1.0]), jnp.array([0.9, 0.9, 0.0]), online, target, allowed
    )
    # close, which is allowed: 0.3; it is not: open, 0.7, though the target likes to stay; done
    np.testing.assert_allclose(found, [0.9 * 0.3 - 0.02, 0.9 * 0.7, 1.0], rtol=1e-6)


def test_no_gradient_flows_through_the_target() -> None:
    q = jnp.ones((2, 3))
    allowed = jnp.ones((2, 3), bool)

    def total(q: jax.Array) -> jax.Array:
        return losses.grasp_target(jnp.zeros(2), jnp.ones(2), q, q, allowed).sum()

    np.testing.assert_array_equal(jax.grad(total)(q), 0.0)


def test_only_what_was_done_is_learned_and_toggles_weigh_more() -> None:
    q = jnp.array([[0.5, 9.0, 9.0], [9.0, 0.0, 9.0]])
    value = losses.grasp_loss(q, jnp.array([0, 1]), jnp.array([1.0, 1.0]), jnp.array([5.0, 1.0]))
    assert value == pytest.approx((5 * 0.25 + 1.0) / 6)


@pytest.mark.parametrize(
    ("q", "choice", "allowed", "expected"),
    [
        ((0.5, 0.3, 0.0), 0, OPEN, 0.0),  # ahead by more than the margin
        ((0.5, 0.48, 0.0), 0, OPEN, 0.03),
        ((0.1, 0.5, 0.0), 0, OPEN, 0.45),
        ((0.1, 0.5, 0.9), 0, OPEN, 0.45),  # opening is not allowed: no rival
        ((0.9, 0.5, 0.2), 1, CLOSED, 0.0),
    ],
)
def test_the_margin_is_what_is_lacking_to_the_best_rival(q, choice, allowed, expected) -> None:
    value = losses.margin_loss(
        jnp.array([q]), jnp.array([choice]), jnp.array([allowed]), 0.05, jnp.ones(1)
    )
    assert value == pytest.approx(expected, abs=1e-6)


def test_targets_are_clipped_to_what_a_gripper_can_bring() -> None:
    config = replace(SMALL, grasp=GraspConfig(enabled=True, penalty=0.1))
    assert config.grasp_range == (-0.1, 1.0)
    assert replace(config, target_clip=False).grasp_range is None


def test_a_small_task_has_the_values_that_were_worked_by_hand() -> None:
    """There and open; away and open, which leads there; away and closed. gamma 0.9, penalty 0.1."""
    there, away, shut = np.eye(3, dtype=np.float32)
    steps = [  # state, is open, toggle, next state, is open then, reward
        (there, 1, -1, there, -1, 1.0),
        (there, 1, 0, there, 1, 0.0),
        (away, 1, 0, there, 1, 0.0),
        (away, 1, -1, shut, -1, 0.0),
        (shut, -1, 1, away, 1, 0.0),
        (shut, -1, 0, shut, -1, 0.0),
    ]
    state, was, toggle, following, now, reward = (np.array(x) for x in zip(*steps, strict=True))
    made = {
        "observation": {GRIPPER: np.stack([was, was], -1)},
        "next_observation": {GRIPPER: np.stack([now, now], -1)},
        "action": toggle[:, None].astype(np.float32),
        "reward": reward.astype(np.float32),
        "terminated": reward > 0,
    }
    config = SACConfig(
        hidden=(16,),
        discount=0.9,
        learning_rate=5e-3,
        polyak=0.05,
        grasp=GraspConfig(enabled=True, penalty=0.1),
    )
    fresh = grasps.create_grasp(jax.random.PRNGKey(0), state[:1], made["observation"], config)
    assert fresh is not None

    def step(held, _):
        return grasps.update_grasp(held, (state, following, following), made, config)[0], None

    learned = jax.jit(lambda g: jax.lax.scan(step, g, None, length=1500)[0])(fresh)
    q = grasps.grasp_network(config).apply({"params": learned.params}, state)
    found = np.asarray(q)[np.arange(6), toggle + 1]
    np.testing.assert_allclose(found, [0.9, 0.81, 0.81, 0.4661, 0.629, 0.5661], atol=0.03)
    allowed = grasps.allowed(made["observation"])
    best = grasps.greedy(learned.params, state, allowed, config)
    np.testing.assert_array_equal(best[::2], [-1, 0, 1])


# What it leaves alone


def test_an_arm_learns_as_if_there_were_no_gripper() -> None:
    """Bit for bit: neither the policy nor its critics see the last dimension, nor the penalty; and
    the entropy that is aimed at is the arm's."""
    with_gripper, alone = create(), create(ALONE, ARM_DIM)
    for number in range(2):
        made = batch(seed=number)
        of_arm = made | {"action": made["action"][:, :ARM_DIM]}
        with_gripper = update_actor(update_critic(with_gripper, made)[0], made)[0]
        alone = update_actor(update_critic(alone, of_arm)[0], of_arm)[0]
    for part in ("actor", "critic", "target_critic", "temperature", "actor_optimizer", "key"):
        assert same(getattr(with_gripper, part), getattr(alone, part)), part


def test_without_a_grasp_critic_an_agent_holds_and_gives_out_none_of_it() -> None:
    agent = jax.eval_shape(lambda: create(ALONE))
    assert agent.grasp is None
    assert not any("grasp" in jax.tree_util.keystr(p) for p, _ in jax.tree.leaves_with_path(agent))
    assert agent.policy_params() is agent.actor


def test_every_update_of_the_critics_is_one_of_the_grasp_critic_and_no_other_is() -> None:
    agent = create()
    updated, metrics = update_critic(agent, batch())
    assert optax.tree_utils.tree_get(updated.grasp.optimizer, "count") == 1
    assert not same(updated.grasp.params, agent.grasp.params)
    assert metrics["toggles"] == pytest.approx(np.abs(batch()["action"][:, -1]).mean())
    acted, _ = update_actor(updated, batch())
    assert same(acted.grasp, updated.grasp)


# Imitation


def test_what_was_shown_draws_the_grasp_critic_and_nothing_else() -> None:
    agent, shown = create(), batch(seed=1)
    plain, _ = update_critic(agent, batch())
    drawn, _ = update_critic(agent, batch(), shown, 1.0)
    ignored, _ = update_critic(agent, batch(), shown, 0.0)
    assert same(drawn.critic, plain.critic)
    assert same(drawn.key, plain.key)
    assert not same(drawn.grasp.params, plain.grasp.params)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6),
        ignored.grasp.params,
        plain.grasp.params,
    )


def test_a_cloned_gripper_does_what_was_shown() -> None:
    agent, made = create(), batch(32)
    state = made["observation"]["state/a"][:, 0]
    made["action"][:, -1] = np.where(state > 0, np.where(np.arange(32) % 2 == 0, -1, 1), 0)
    for _ in range(200):
        agent, metrics = clone(agent, made)
    state = state_vector(made["observation"])
    allowed = grasps.allowed(made["observation"])
    best = grasps.greedy(agent.grasp.params, state, allowed, GRASP)
    np.testing.assert_array_equal(best, made["action"][:, -1])
    ready = agent.with_fresh_optimizers()
    assert same(ready.grasp.target, agent.grasp.params)
    assert optax.tree_utils.tree_get(ready.grasp.optimizer, "count") == 0
    assert np.isfinite(metrics["cloning_loss"])


# What an actor gets


@pytest.fixture(scope="module")
def policy() -> Policy:
    return Policy(SPEC, ARM_DIM + 1, replace(GRASP, grasp=GraspConfig(enabled=True, epsilon=0.5)))


def seen(opening: float) -> dict[str, np.ndarray]:
    return {"state/a": np.float32([0.3, -0.2]), GRIPPER: np.full(2, opening, np.float32)}


def worth(agent: SACAgent, values: tuple[float, float, float]):
    """What an actor gets of this agent, as if closing, staying, opening were worth so much."""
    head = agent.grasp.params["Dense_0"]
    fixed = {"kernel": jnp.zeros_like(head["kernel"]), "bias": jnp.array(values)}
    params = {**agent.grasp.params, "Dense_0": fixed}
    return agent.replace(grasp=agent.grasp.replace(params=params)).policy_params()


@pytest.mark.parametrize(
    ("values", "when_open", "when_closed"),
    [((3.0, 1.0, 2.0), -1, 1), ((0.0, 1.0, 0.5), 0, 0), ((3.0, 2.0, 1.0), -1, 0)],
)
def test_the_best_that_a_gripper_can_do_ends_the_action(
    policy: Policy, values, when_open, when_closed
) -> None:
    params, key = worth(create(), values), jax.random.PRNGKey(3)
    for opening, expected in ((1.0, when_open), (-1.0, when_closed)):
        mode = policy.mode(params, seen(opening))
        assert mode.shape == (ARM_DIM + 1,)
        assert mode[-1] == expected
        assert policy.sample(params, seen(opening), key, explore=False)[-1] == expected


def test_chance_chooses_now_and_then_in_training_alone(policy: Policy) -> None:
    params = worth(create(), (0.0, 1.0, 0.0))
    keys = jax.random.split(jax.random.PRNGKey(0), 200)
    tried = np.array([policy.sample(params, seen(1.0), key) for key in keys])
    judged = np.array([policy.sample(params, seen(1.0), key, explore=False) for key in keys])
    np.testing.assert_array_equal(tried[:, :-1], judged[:, :-1])
    assert set(judged[:, -1]) == {0.0}
    assert set(tried[:, -1]) == {-1.0, 0.0}  # it is open: it cannot open
    assert 0.15 < np.mean(tried[:, -1] == -1.0) < 0.35  # half of one half


def test_layouts_with_and_without_a_grasp_critic_do_not_fit(policy: Policy) -> None:
    assert policy.layout_hash != Policy(SPEC, ARM_DIM + 1, SMALL).layout_hash
    assert policy.layout_hash == Policy(SPEC, ARM_DIM + 1, GRASP).layout_hash


# What it needs


def test_an_agent_for_an_arm_alone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"action_dim is 6 and agent\.grasp\.enabled is true"):
        Trainer(LearnerConfig(agent=GRASP), SessionConfig(action_dim=6))
    Trainer(LearnerConfig(agent=GRASP), SessionConfig(action_dim=7))
    with pytest.raises(ValueError, match="action_dim 1 has no other"):
        create(dim=1)


def test_an_observation_that_does_not_say_what_the_gripper_is_commanded_is_refused() -> None:
    spec = {"state/a": ((2,), "float32")}
    with pytest.raises(ValueError, match="'state/gripper' is not in"):
        SACAgent.create(jax.random.PRNGKey(0), spec, 3, GRASP)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"penalty": -0.1}, "grasp.penalty is -0.1"),
        ({"epsilon": 1.1}, "grasp.epsilon is 1.1"),
        ({"margin": 0.0}, "grasp.margin is 0.0"),
        ({"toggle_weight": float("nan")}, "grasp.toggle_weight is nan"),
    ],
)
def test_values_without_sense_are_refused(values, named) -> None:
    with pytest.raises(ValueError, match=named):
        GraspConfig(**values)
