"""What an actor needs of the agent: parameters in, actions out, no optimizer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner import tanh_gaussian
from serl_learner.agents.sac import SACConfig, policy_network
from serl_learner.networks.state_vector import state_size, state_vector
from serl_learner.types import Observation, ObservationSpec


class Policy:
    """The policy network for one observation layout, jitted for single observations."""

    def __init__(self, spec: ObservationSpec, action_dim: int, config: SACConfig) -> None:
        self.spec = spec
        self.action_dim = action_dim
        network = policy_network(action_dim, config)
        state = jax.ShapeDtypeStruct((1, state_size(spec)), jnp.float32)
        shapes = jax.eval_shape(network.init, jax.random.PRNGKey(0), state)["params"]
        # Zeros: what has the shape is enough, and initial values take a second to compile.
        self.template = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
        self.layout_hash = layout_hash(self.template, spec, config)

        def mode(params: Any, observation: Observation) -> jax.Array:
            mean, _ = network.apply({"params": params}, state_vector(_batched(observation)))
            return tanh_gaussian.mode(mean)[0]

        def draw(params: Any, observation: Observation, key: jax.Array) -> jax.Array:
            mean, std = network.apply({"params": params}, state_vector(_batched(observation)))
            return tanh_gaussian.sample(key, mean, std)[0][0]

        self._mode = jax.jit(mode)
        self._draw = jax.jit(draw)

    def mode(self, params: Any, observation: Observation) -> np.ndarray:
        """The deterministic action, [A]."""
        return np.asarray(self._mode(params, dict(observation)))

    def sample(
        self, params: Any, observation: Observation, key: jax.Array | np.ndarray
    ) -> np.ndarray:
        """A sampled action, [A]."""
        return np.asarray(self._draw(params, dict(observation), key))


def layout_hash(params: Any, spec: ObservationSpec, config: SACConfig) -> str:
    """Hash of everything that must agree between learner and actor: tree, shapes, dtypes.

    Learning rates and the like may differ; what shapes the policy's function may not.
    """
    leaves = {
        jax.tree_util.keystr(path): (leaf.shape, str(leaf.dtype))
        for path, leaf in jax.tree_util.tree_leaves_with_path(params)
    }
    shaping = {k: asdict(config)[k] for k in ("hidden", "activation", "layer_norm")}
    text = json.dumps([leaves, sorted(spec.items()), shaping], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _batched(observation: Observation) -> Observation:
    return jax.tree.map(lambda leaf: leaf[None], dict(observation))
