"""What an actor needs of the agent: parameters in, actions out, no optimizer."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner import tanh_gaussian
from serl_learner.agents import grasp, policy_params
from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import SACAgent, policy_network
from serl_learner.frame_encoder import features_of, input_spec, trunk_of
from serl_learner.networks.heads import GaussianPolicy
from serl_learner.networks.state_vector import state_vector
from serl_learner.types import Observation, ObservationSpec
from serl_learner.vision.cameras import FEATURES, IMAGE, cameras
from serl_learner.vision.encoder import ObservationEncoder
from serl_learner.vision.trunk import Trunk

_SHAPING = ("kind", "pooling", "latent", "proprio_latent", "film", "stack", "blank")
"""Of the encoder's configuration: what makes another function of the same parameters."""


class Policy:
    """The policy network for one observation layout, jitted for single observations.

    With images, the frozen network runs in it, on plain frames; parameters are then those of
    policy and trained encoder. With a grasp critic the action ends with what that chooses.

    An observation has one image [H, W, 3] of each camera, or with a stack of T frames
    [T, H, W, 3], the newest last.
    """

    def __init__(self, spec: ObservationSpec, action_dim: int, config: SACConfig) -> None:
        """Raises WeightsError, and ValueError if an image is not uint8 [H, W, 3]."""
        self.spec = spec
        self.action_dim = action_dim
        trunk = trunk_of(spec, config.encoder)
        inputs = input_spec(spec, config.encoder)
        agent = jax.eval_shape(
            lambda key: SACAgent.create(key, inputs, action_dim, config), jax.random.PRNGKey(0)
        )
        # Zeros: what has the shape is enough, and initial values take a second to compile.
        shapes = agent.policy_params()
        self.template = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
        self.layout_hash = layout_hash(self.template, spec, config)
        self._trunk_params = jax.device_put(trunk.params) if trunk else None  # once
        network = policy_network(config.arm_dim(action_dim), config)
        encoded = partial(_encoded, config, trunk)
        chosen = partial(_with_gripper, config)

        def mode(trunk_params: Any, params: Any, observation: Observation) -> jax.Array:
            state = encoded(trunk_params, params, observation)
            mean, _ = _applied(network, params, state)
            return chosen(params, state, observation, tanh_gaussian.mode(mean)[0])

        def draw(
            trunk_params: Any,
            params: Any,
            observation: Observation,
            key: jax.Array,
            epsilon: jax.Array | float,
        ) -> jax.Array:
            state = encoded(trunk_params, params, observation)
            arm, _ = tanh_gaussian.sample(key, *_applied(network, params, state))
            return chosen(params, state, observation, arm[0], key, epsilon)

        self._epsilon = config.grasp.epsilon
        self._mode = jax.jit(mode)
        self._draw = jax.jit(draw)

    def mode(self, params: Any, observation: Observation) -> np.ndarray:
        """The deterministic action, [A]."""
        return np.asarray(self._mode(self._trunk_params, params, dict(observation)))

    def sample(
        self,
        params: Any,
        observation: Observation,
        key: jax.Array | np.ndarray,
        explore: bool = True,
    ) -> np.ndarray:
        """A sampled action, [A]. A grasp critic's gripper does what is best; with `explore`, for
        training, now and then what chance says."""
        epsilon = np.float32(self._epsilon if explore else 0.0)
        return np.asarray(self._draw(self._trunk_params, params, dict(observation), key, epsilon))


def layout_hash(params: Any, spec: ObservationSpec, config: SACConfig) -> str:
    """Hash of everything that must agree between learner and actor: tree, shapes, dtypes.

    Learning rates and the like may differ; what shapes the policy's function may not.
    """
    leaves = {
        jax.tree_util.keystr(path): (leaf.shape, str(leaf.dtype))
        for path, leaf in jax.tree_util.tree_leaves_with_path(params)
    }
    shaping = {k: asdict(config)[k] for k in ("hidden", "activation", "layer_norm")}
    described: list[Any] = [leaves, sorted(spec.items()), shaping]
    if cameras(spec):
        trunk, encoder = trunk_of(spec, config.encoder), asdict(config.encoder)
        described.append({name: encoder[name] for name in _SHAPING})
        described.append(trunk.weights_hash if trunk else "")
    text = json.dumps(described, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _encoded(
    config: SACConfig,
    trunk: Trunk | None,
    trunk_params: Any,
    params: Any,
    observation: Observation,
) -> jax.Array:
    """What the heads see of one observation, [1, I]."""
    images = {camera: observation[IMAGE + camera] for camera in cameras(observation)}
    state = {key: leaf[None] for key, leaf in observation.items() if not key.startswith(IMAGE)}
    if not images:
        return state_vector(state)
    stack = config.encoder.stack
    stacks = {c: x if stack > 1 else x[None] for c, x in images.items()}
    if trunk is None:
        inputs = {IMAGE + camera: jnp.asarray(x)[None] for camera, x in stacks.items()}
    else:  # rounded as what is cached for the learner
        maps = features_of(trunk, trunk_params, stacks)
        inputs = {FEATURES + c: x[None].astype(jnp.float16) for c, x in maps.items()}
    encoded: jax.Array = ObservationEncoder(config.encoder).apply(
        {"params": params["encoder"]}, state | inputs
    )
    return encoded


def _applied(network: GaussianPolicy, params: Any, state: Any) -> tuple[jax.Array, jax.Array]:
    """Mean and deviation, [1, A] each."""
    mean, std = network.apply({"params": policy_params.split(params)[1]}, state)
    return mean, std


def _with_gripper(
    config: SACConfig,
    params: Any,
    state: jax.Array,
    observation: Observation,
    arm: jax.Array,
    key: jax.Array | None = None,
    epsilon: jax.Array | float = 0.0,
) -> jax.Array:
    """The action [A] of an arm and, if there is a grasp critic, its gripper."""
    critic = policy_params.split(params)[2]
    if critic is None:
        return arm
    allowed = grasp.allowed({grasp.GRIPPER: observation[grasp.GRIPPER][None]})
    choice = grasp.greedy(critic, state, allowed, config)
    if key is not None:
        choice = grasp.explored(jax.random.fold_in(key, 1), choice, allowed, epsilon)
    return jnp.concatenate([arm, choice])
