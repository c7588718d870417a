"""The fused update is the plain loop of its steps."""

from __future__ import annotations

import jax
import numpy as np
from toy import host_copy, record, small_learner

from serl_learner.learner import Learner
from serl_learner.plain_loop import update_in_loop
from serl_learner.types import Source
from serl_learner.updates import update_high_utd


def with_data() -> Learner:
    """A learner with both rings filled."""
    learner = small_learner(seed=4)
    for number, source in enumerate((Source.DEMO, Source.POLICY)):
        for step in range(9):
            learner.add(record(step, source=source, episode=number))
    return learner


def test_fused_update_equals_the_plain_loop() -> None:
    learner = with_data()
    data, how = (learner.prior, learner.online), {"utd_ratio": 2, "batch_size": 8}
    fused, fused_metrics = update_high_utd(host_copy(learner.agent), *data, **how)
    loop, loop_metrics = update_in_loop(host_copy(learner.agent), *data, **how)
    np.testing.assert_array_equal(fused.key, loop.key)
    for a, b in zip(jax.tree.leaves(fused), jax.tree.leaves(loop), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    assert fused_metrics.keys() == loop_metrics.keys()
    for name, value in fused_metrics.items():
        np.testing.assert_allclose(value, loop_metrics[name], rtol=1e-4, err_msg=name)
    # Two steps of the critics to one of policy and temperature.
    counts = (fused.critic_optimizer, fused.actor_optimizer, fused.temperature_optimizer)
    assert [int(optimizer[0].count) for optimizer in counts] == [2, 1, 1]
