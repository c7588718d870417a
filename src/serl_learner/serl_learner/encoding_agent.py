"""The agent with its frozen network inside every update, as SERL has it; to be measured against.

Three passes for each critic update: the next observation for the policy, the same for the target
(which has a copy of the network's parameters, so that no compiler makes one of the two), and the
observation for the critics. Nothing else uses it.
"""

from __future__ import annotations

from typing import Any

import flax.struct
import jax

from serl_learner.agents.config import SACConfig
from serl_learner.agents.sac import SACAgent
from serl_learner.frame_encoder import features_of
from serl_learner.types import ObservationSpec
from serl_learner.vision.cameras import FEATURES, IMAGE, cameras
from serl_learner.vision.encoder import encoder_input_spec
from serl_learner.vision.trunk import Trunk


class EncodingAgent(SACAgent):
    """Updated on raw images `image/<camera>` uint8 [B, T, H, W, 3]."""

    trunk: Trunk = flax.struct.field(pytree_node=False)
    trunk_params: Any
    target_trunk_params: Any

    @classmethod
    def beside(
        cls, key: jax.Array, spec: ObservationSpec, action_dim: int, config: SACConfig, trunk: Trunk
    ) -> EncodingAgent:
        """A fresh one for observations of `spec`."""
        inputs = encoder_input_spec(spec, config.encoder, trunk)
        agent = SACAgent.create(key, inputs, action_dim, config)
        fields = {name: getattr(agent, name) for name in agent.__dataclass_fields__}
        copied = jax.tree.map(jax.numpy.copy, trunk.params)
        params = jax.tree.map(jax.numpy.asarray, trunk.params)
        return cls(**fields, trunk=trunk, trunk_params=params, target_trunk_params=copied)

    def encode(self, encoder: Any, observation: Any) -> jax.Array:
        """Runs the network, then what is trained: float32 [B, I]."""
        of_target = encoder is self.target_encoder
        params = self.target_trunk_params if of_target else self.trunk_params
        images = {c: observation[IMAGE + c] for c in cameras(observation)}
        flat = {c: x.reshape(-1, *x.shape[2:]) for c, x in images.items()}
        maps = jax.lax.stop_gradient(features_of(self.trunk, params, flat))
        inputs = {
            FEATURES + c: m.reshape(*images[c].shape[:2], *m.shape[1:]) for c, m in maps.items()
        }
        state = {k: v for k, v in observation.items() if not k.startswith(IMAGE)}
        return super().encode(encoder, state | inputs)
