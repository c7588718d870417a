"""Cloning by the learner's agent: its loss by hand, what it leaves alone, when it is done."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import optax
import pytest
from image_toy import ENCODERS, agent_config, image_batch, trained_is_slow
from point_reach import ACTION_DIM as POINT_DIM
from point_reach import SPEC as POINT_SPEC
from point_reach import demonstrator, episode, success_rate
from toy import ACTION_DIM, SMALL, SPEC, host_copy, random_batch, record, same, small_learner

from serl_learner import losses
from serl_learner.agents.config import ImitationConfig, SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.cloning import WarmStartConfig
from serl_learner.learner import RULES, Learner, LearnerConfig
from serl_learner.policy import Policy
from serl_learner.types import Record, Source
from serl_learner.updates import actor_step

CRITIC_PART = ("critic", "target_critic", "temperature", "temperature_optimizer")
HALF_LOG_TAU = 0.5 * math.log(2.0 * math.pi)

clone = jax.jit(SACAgent.update_by_cloning)
update_actor = jax.jit(SACAgent.update_actor)
jitted_actor_step = jax.jit(actor_step, static_argnames="batch_size")


@pytest.mark.parametrize(
    ("action", "mean", "std", "expected"),
    [
        ((0.0,), (0.0,), (1.0,), HALF_LOG_TAU),
        ((0.0,), (2.0,), (1.0,), HALF_LOG_TAU + 2.0),
        ((0.0,), (0.0,), (0.5,), HALF_LOG_TAU - math.log(2.0)),
        ((0.0, 0.0), (0.0, 0.0), (1.0, 1.0), 2.0 * HALF_LOG_TAU),
        # arctanh(0.6) = ln 2, and the tanh squeezes by 1 - 0.6^2 there
        ((0.6,), (math.log(2.0),), (1.0,), HALF_LOG_TAU + math.log(0.64)),
        # a full push is taken as 1 - 1e-4, so it has a density
        ((1.0,), (math.atanh(1 - 1e-4),), (1.0,), HALF_LOG_TAU + math.log(1 - (1 - 1e-4) ** 2)),
    ],
)
def test_the_loss_is_the_negative_log_density(action, mean, std, expected) -> None:
    arrays = (np.float32([value, value]) for value in (action, mean, std))
    assert float(losses.cloning_loss(*arrays)) == pytest.approx(expected, abs=2e-3)


def test_cloning_leaves_critics_and_temperature_bit_identical() -> None:
    agent = SACAgent.create(jax.random.PRNGKey(0), SPEC, ACTION_DIM, SMALL)
    updated, metrics = clone(agent, random_batch())
    for part in (*CRITIC_PART, "critic_optimizer"):
        assert same(getattr(updated, part), getattr(agent, part)), part
    for part in ("actor", "actor_optimizer"):
        assert not same(getattr(updated, part), getattr(agent, part)), part
    again, later = clone(updated, random_batch())
    assert later["cloning_loss"] < metrics["cloning_loss"]
    fresh = again.with_fresh_optimizers()
    assert same(fresh.actor, again.actor)
    assert same(fresh.actor_optimizer, agent.actor_optimizer)


@pytest.mark.parametrize("kind", trained_is_slow(ENCODERS))
def test_with_images_it_trains_the_encoder_with_the_policy(kind: str) -> None:
    batch = image_batch(ENCODERS[kind])
    inputs = {k: (v.shape[1:], v.dtype.name) for k, v in batch["observation"].items()}
    config = agent_config(ENCODERS[kind])
    agent = SACAgent.create(jax.random.PRNGKey(0), inputs, ACTION_DIM, config)
    updated, _ = clone(agent, batch)
    for part in CRITIC_PART:
        assert same(getattr(updated, part), getattr(agent, part)), part
    for leaf, old in zip(
        jax.tree.leaves(updated.encoder), jax.tree.leaves(agent.encoder), strict=True
    ):
        assert not np.array_equal(leaf, old), "a parameter that no gradient reaches"
    assert same(updated.target_encoder, agent.target_encoder)
    ready = updated.with_fresh_optimizers()
    assert same(ready.target_encoder, updated.encoder)
    assert same(ready.critic_optimizer, agent.critic_optimizer)


def trained_by(weight: float, agent: SACAgent) -> tuple[SACAgent, float]:
    """After one update of the policy beside which people's actions draw; the policy's loss."""
    updated, metrics = update_actor(agent, random_batch(), random_batch(seed=1), weight)
    return updated, float(metrics["actor_loss"])


def test_imitation_adds_its_weight_times_the_cloning_loss_to_the_policys() -> None:
    agent = SACAgent.create(jax.random.PRNGKey(0), SPEC, ACTION_DIM, SMALL)
    plain, metrics = update_actor(agent, random_batch())
    cloning = float(clone(agent, random_batch(seed=1))[1]["cloning_loss"])
    without, loss = trained_by(0.0, agent)
    assert loss == pytest.approx(float(metrics["actor_loss"]), abs=1e-6)
    drawn, more = trained_by(0.5, agent)
    assert more - loss == pytest.approx(0.5 * cloning, rel=1e-4)
    assert not same(drawn.actor, without.actor)
    for part in ("encoder", "critic", "target_critic", "critic_optimizer", "temperature"):
        assert same(getattr(drawn, part), getattr(plain, part)), part


def test_the_weight_halves_and_is_none_without_prior_data() -> None:
    imitation = ImitationConfig(enabled=True, weight=0.8, half_life=2)
    by_count = []
    for length in (4, 0):
        learner = small_learner(agent=replace(SMALL, imitation=imitation))
        for item in demonstration(0, length) if length else ():
            learner.add(item)
        for step in range(5):
            learner.add(record(step, episode=1))
        agents = [with_count(learner.agent, count) for count in (0, 2, 4)]
        rings = learner.prior, learner.online
        by_count.append([float(jitted_actor_step(a, *rings, 8)[1]["actor_loss"]) for a in agents])
    (first, second, third), without = by_count
    # of the cloning loss 0.8, 0.4 and 0.2 times
    assert first - second == pytest.approx(2.0 * (second - third), rel=1e-3)
    assert abs(second - third) > 1e-3
    assert np.ptp(without) == 0.0


def with_count(agent: SACAgent, count: int) -> SACAgent:
    """As if the policy had been updated so often."""
    optimizer = optax.tree_utils.tree_set(agent.actor_optimizer, count=np.int32(count))
    return agent.replace(actor_optimizer=optimizer)


def test_with_imitation_the_policy_comes_to_do_what_people_do_before_critics_know() -> None:
    rates, chance = [], np.random.default_rng(1)
    for enabled in (False, True):
        imitation = ImitationConfig(enabled=enabled)
        learner = point_learner(utd_ratio=1, imitation=imitation)
        rng = np.random.default_rng(0)
        for number in range(10):
            episode(rng, demonstrator(rng, 0.2), number, Source.DEMO, learner.add)
        for number in range(10, 20):
            episode(rng, lambda _: chance.uniform(-1, 1, 2), number, Source.RANDOM, learner.add)
        work(learner)
        rates.append(rate(learner))
    assert rates[1] >= 0.9 > rates[0]


def point_learner(**config: Any) -> Learner:
    """A learner of the task of point_reach."""
    imitation = config.pop("imitation", ImitationConfig())
    agent = SACConfig(hidden=(32,), critics=2, learning_rate=3e-3, imitation=imitation)
    defaults = {"batch_size": 64, "utd_ratio": 4, "training_starts": 20}
    return Learner(LearnerConfig(agent=agent, **(defaults | config)), POINT_SPEC, POINT_DIM, 0)


def work(learner: Learner) -> int:
    """Does all that is due; how much that was."""
    count = 0
    while learner.work() is not None:
        count += 1
    return count


def rate(learner: Learner) -> float:
    """Success of the learner's policy, deterministic."""
    policy = Policy(POINT_SPEC, POINT_DIM, learner.config.agent)
    params = learner.policy_params()
    return success_rate(lambda observation: policy.mode(params, observation))


def test_hg_dagger_imitates_people_alone_and_leaves_the_critics_bit_identical() -> None:
    """The policy's own steps say the contrary, and are there in greater number."""
    learner = point_learner(learn="hg_dagger")
    rng = np.random.default_rng(0)
    people = demonstrator(rng, 0.2)
    parts = host_copy({part: getattr(learner.agent, part) for part in CRITIC_PART})
    for number in range(20):
        source = Source.DEMO if number < 4 else Source.INTERVENTION
        episode(rng, people, number, source, learner.add)
        episode(rng, lambda o: -people(o), 100 + number, Source.POLICY, learner.add)
    assert learner.online_steps > 2 * learner.prior_transitions
    blocks = work(learner)
    assert blocks == learner.blocks == learner.online_steps - 20
    for part, before in parts.items():
        assert same(getattr(learner.agent, part), before), part
    assert rate(learner) >= 0.9


def test_hg_dagger_without_anything_from_people_changes_nothing() -> None:
    learner = small_learner(learn="hg_dagger")
    actor = host_copy(learner.agent.actor)
    for step in range(8):
        learner.add(record(step))
    assert work(learner) == 3
    assert same(learner.agent.actor, actor)


def start(**fields: Any) -> WarmStartConfig:
    return WarmStartConfig(**({"enabled": True, "demonstrations": 2} | fields))


def demonstrate(learner: Learner, number: int, length: int = 4) -> None:
    """A successful demonstration."""
    for item in demonstration(number, length):
        learner.add(item)


def demonstration(number: int, length: int) -> list[Record]:
    """Its records."""
    common = {"episode": number, "source": Source.DEMO}
    steps = [record(k, **common) for k in range(length)]
    return [*steps, record(length, last=True, action=None, success=True, **common)]


def test_a_warm_start_waits_for_its_demonstrations_and_comes_once() -> None:
    learner = small_learner(warm_start=start(updates=120))
    demonstrate(learner, 0)
    assert learner.warm_start_ahead
    assert learner.work() is None
    demonstrate(learner, 1)
    assert work(learner) == 3  # of 50, 50 and 20 updates
    assert learner.warm_start.cloned == 120
    assert not learner.warm_start_ahead
    demonstrate(learner, 2)
    assert learner.work() is None
    assert learner.blocks == 0


def test_after_a_warm_start_the_policy_does_what_was_demonstrated() -> None:
    learner = point_learner(warm_start=start(updates=400, demonstrations=20))
    rng = np.random.default_rng(0)
    people = demonstrator(rng, 0.2)
    while learner.demonstrations < 20:
        episode(rng, people, learner.demonstrations, Source.DEMO, learner.add)
    before = rate(learner)
    work(learner)
    assert before < 0.5
    assert rate(learner) >= 0.9


def test_the_policy_rests_while_the_critics_begin() -> None:
    learner = small_learner(warm_start=start(updates=1, demonstrations=1, policy_rests=2))
    demonstrate(learner, 0)
    work(learner)
    cloned = host_copy((learner.agent.actor, learner.agent.temperature))
    for step in range(8):  # seven transitions, of which three are due
        critic = host_copy(learner.agent.critic)
        learner.add(record(step, episode=1))
        if not work(learner):
            continue
        assert not same(learner.agent.critic, critic)
        rested = same((learner.agent.actor, learner.agent.temperature), cloned)
        assert rested == (learner.blocks <= 2)
    assert learner.blocks == 3


def test_a_compiled_learner_rests_as_well() -> None:
    learners = [
        small_learner(warm_start=start(updates=1, demonstrations=1, policy_rests=2))
        for _ in range(2)
    ]
    learners[1].compile()
    for learner in learners:
        demonstrate(learner, 0)
        for step in range(8):
            learner.add(record(step, episode=1))
        assert work(learner) == 4
    assert same(learners[0].agent, learners[1].agent)


def test_without_a_warm_start_nothing_is_cloned() -> None:
    learner = small_learner()
    demonstrate(learner, 0)
    demonstrate(learner, 1)
    assert not learner.warm_start_ahead
    assert learner.work() is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"updates": 0}, "warm_start.updates 0"),
        ({"demonstrations": 0}, "warm_start.demonstrations 0"),
        ({"policy_rests": -1}, "warm_start.policy_rests -1"),
    ],
)
def test_bad_warm_starts_are_named(config: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WarmStartConfig(**config)


def test_an_unknown_rule_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"learn 'bc' is none of \['rl', 'hg_dagger'\]"):
        LearnerConfig(learn="bc")
    assert [*RULES] == ["rl", "hg_dagger"]
