"""A trained reward classifier: what it looks at, what it says, and when that is a success."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from serl_learner.frame_encoder import features_of, frozen_trunk
from serl_learner.rewards.config import ClassifierConfig
from serl_learner.rewards.head import RewardHead, ensemble_probabilities
from serl_learner.types import Observation, ObservationSpec
from serl_learner.vision.cameras import FEATURES, IMAGE, cameras
from serl_learner.vision.trunk import Trunk

_SHAPING = ("kind", "pooling")
"""Of the encoder's configuration: what makes another function of the same parameters."""


class UnusableObservation(ValueError):
    """An observation that the model cannot judge; the message says which camera and why."""


@dataclass(frozen=True, eq=False)
class RewardModel:
    """Weights with all that belongs to them.

    config: of the classifier.
    sizes: height and width [pixels] of the images that it was trained on, by camera.
    params: of RewardHead, the members along the first axis.
    weights_hash: of the frozen network's file.
    threshold: of the probability, from which a frame counts as solved.
    frames: so many in a row are a success.
    report: figures of the training, as JSON has them.
    """

    config: ClassifierConfig
    sizes: Mapping[str, tuple[int, int]]
    params: Any
    weights_hash: str
    threshold: float
    frames: int
    report: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0.0 < self.threshold < 1.0:
            raise ValueError(f"threshold {self.threshold} is not in (0, 1)")
        if self.frames < 1:
            raise ValueError(f"frames {self.frames} is below 1")

    @property
    def spec(self) -> ObservationSpec:
        """Of the part of an observation that it looks at."""
        return image_spec(self.sizes)

    @property
    def model_id(self) -> str:
        """Hash of weights and preprocessing, 16 hex digits."""
        digest = hashlib.sha256(json.dumps(self.preprocessing, sort_keys=True).encode())
        for path, leaf in jax.tree_util.tree_leaves_with_path(self.params):
            digest.update(jax.tree_util.keystr(path).encode())
            digest.update(np.ascontiguousarray(leaf, np.dtype("<f4")).tobytes())
        return digest.hexdigest()[:16]

    @property
    def preprocessing(self) -> dict[str, Any]:
        """What makes another function of the same weights."""
        encoder = asdict(self.config.encoder)
        return {
            "encoder": {name: encoder[name] for name in _SHAPING},
            "classes": self.config.classes,
            "members": self.config.members,
            "hidden": self.config.hidden,
            "sizes": {camera: list(size) for camera, size in sorted(self.sizes.items())},
            "weights_hash": self.weights_hash,
        }


class Judgement:
    """A model ready to judge observations, compiled when it is made."""

    def __init__(self, model: RewardModel) -> None:
        """Raises WeightsError: the frozen network cannot be loaded, or is not the model's."""
        self.model = model
        trunk = frozen_trunk(model.config.encoder)
        # Once, instead of at every frame.
        self._trunk_params, self._params = jax.device_put((trunk.params, model.params))
        self._judge = jax.jit(partial(_judge, RewardHead(model.config), trunk))
        self.classes({name: np.zeros(*spec) for name, spec in model.spec.items()})

    def adopt(self, model: RewardModel) -> None:
        """Judges with the weights of another model of the same kind from now on.

        Raises ValueError: its preprocessing or its frozen network is another.
        """
        if model.preprocessing != self.model.preprocessing:
            raise ValueError(
                f"model {model.model_id} has {model.preprocessing}, expected"
                f" {self.model.preprocessing}"
            )
        self.model, self._params = model, jax.device_put(model.params)

    def classes(self, observation: Observation) -> np.ndarray:
        """Probability of each class, [C].

        Raises:
          UnusableObservation: a camera of the model is missing or of another size.
        """
        check_observation(observation, self.model.spec)
        images = {camera: observation[IMAGE + camera] for camera in self.model.sizes}
        return np.asarray(self._judge(self._trunk_params, self._params, images))

    def probability(self, observation: Observation) -> float:
        """That the observation shows the task solved; raises as `classes`."""
        return float(self.classes(observation)[-1])


def image_spec(sizes: Mapping[str, tuple[int, int]]) -> ObservationSpec:
    """Of images of these sizes, by observation key."""
    return {IMAGE + camera: ((*size, 3), "uint8") for camera, size in sorted(sizes.items())}


def check_observation(observation: Observation, spec: ObservationSpec) -> None:
    """Raises UnusableObservation unless all of `spec` is in the observation."""
    for name, (shape, dtype) in spec.items():
        camera = name.removeprefix(IMAGE)
        if name not in observation:
            there = ", ".join(cameras(observation)) or "none"
            raise UnusableObservation(f"camera {camera!r} is missing; there are: {there}")
        image = observation[name]
        if image.shape != shape or image.dtype.name != dtype:
            raise UnusableObservation(
                f"camera {camera!r} has images {image.dtype} {list(image.shape)}, the model wants"
                f" {dtype} {list(shape)}"
            )


def _judge(
    head: RewardHead, trunk: Trunk, trunk_params: Any, params: Any, images: dict[str, Any]
) -> jax.Array:
    """Probabilities [C] of images [H, W, 3] by camera; features rounded as those trained on."""
    maps = features_of(trunk, trunk_params, {camera: x[None] for camera, x in images.items()})
    features = {FEATURES + camera: x.astype(jnp.float16) for camera, x in maps.items()}
    return ensemble_probabilities(head, params, features)[0]
