"""What replay keeps of a record's images: them, or the features of some crops of each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp

from serl_learner.frame_index import FrameKey
from serl_learner.frame_ring import Frame, FrameLayout
from serl_learner.frame_slots import KeyedFrame
from serl_learner.types import ObservationSpec, Record
from serl_learner.vision.augment import crop, recolour
from serl_learner.vision.cached_crops import CachedCrops, cached_crops
from serl_learner.vision.cameras import FEATURES, IMAGE, cameras
from serl_learner.vision.config import EncoderConfig
from serl_learner.vision.encoder import encoder_input_spec
from serl_learner.vision.trunk import Trunk, load_trunk

RECENT = 256
"""Frames that are remembered: until their episode is on disk, unless it is a long one."""
AHEAD = 8
"""Records that are under way at once when many are encoded."""

_load = cache(load_trunk)


def trunk_of(spec: ObservationSpec, config: EncoderConfig) -> Trunk | None:
    """The frozen network that observations of `spec` go through, loaded once; None: there is none.

    Raises WeightsError.
    """
    return _load(_network_alone(config)) if cameras(spec) else None


def frozen_trunk(config: EncoderConfig) -> Trunk:
    """The frozen network of a configuration that has one, loaded once. Raises WeightsError."""
    trunk = _load(_network_alone(config))
    assert trunk is not None, f"encoder {config.kind} has no frozen network"
    return trunk


def _network_alone(config: EncoderConfig) -> EncoderConfig:
    """What decides on the network: the same one serves whatever becomes of its features."""
    return EncoderConfig(config.kind, config.weights, config.weights_sha256)


def input_spec(spec: ObservationSpec, config: EncoderConfig) -> ObservationSpec:
    """What the trained encoder takes for observations of `spec`; without images, `spec` itself.

    Raises WeightsError, and ValueError if an image is not uint8 [H, W, 3].
    """
    return encoder_input_spec(spec, config, trunk_of(spec, config)) if cameras(spec) else spec


class FrameEncoder:
    """Turns records of one layout into frames. A record gives the same bits whenever it comes."""

    def __init__(self, spec: ObservationSpec, config: EncoderConfig) -> None:
        """Raises WeightsError, and ValueError if an image is not uint8 [H, W, 3]."""
        self.config = config
        self.trunk = trunk_of(spec, config)
        self.cameras = cameras(spec)
        self.layout = stored_layout(input_spec(spec, config), config)
        self._recent: OrderedDict[FrameKey, Frame] = OrderedDict()
        self._params = jax.device_put(self.trunk.params) if self.trunk else None  # once

    def keyed(self, record: Record) -> KeyedFrame:
        """Its frame, encoded the first time that it is asked for."""
        frame = self.known(record)
        if frame is None:
            (frame,) = self.frames([record])
            self.remember(record, frame)
        return KeyedFrame(_key(record), frame)

    def known(self, record: Record) -> Frame | None:
        """Its frame, if that is remembered."""
        return self._recent.get(_key(record))

    def remember(self, record: Record, frame: Frame) -> None:
        """Takes a frame that was encoded before."""
        self._recent[_key(record)] = frame
        if len(self._recent) > RECENT:
            self._recent.popitem(last=False)

    def frames(self, records: Sequence[Record]) -> list[Frame]:
        """Encodes them, several at a time; with a stack, an episode's have their crops in common.

        The device gets each alone, whose bits then do not depend on how many they are; on a CPU
        more at once would not be faster.
        """
        waiting: list[Any] = []
        done: list[Frame] = []
        for record in records:
            waiting.append(self._encoded(record))
            if len(waiting) == AHEAD:
                done.append(jax.device_get(waiting.pop(0)))
        return done + [jax.device_get(frame) for frame in waiting]

    def _encoded(self, record: Record) -> Any:
        images = {camera: record.observation[IMAGE + camera] for camera in self.cameras}
        if self.trunk is None:
            return {IMAGE + camera: image for camera, image in images.items()}
        number = record.seq if self.config.stack == 1 else record.episode
        crops = {
            camera: cached_crops(record.session, number, camera, self.config)
            for camera in self.cameras
        }
        return _encode(self.trunk, self.config, self._params, images, crops)


def _key(record: Record) -> FrameKey:
    return record.session, record.seq


def stored_layout(inputs: ObservationSpec, config: EncoderConfig) -> FrameLayout:
    """What is stored of one frame, from what the encoder takes, [T, ...]."""
    spec: ObservationSpec = {}
    for name, (shape, dtype) in inputs.items():
        if name.startswith(FEATURES):
            spec[name] = ((config.crops, *shape[1:]), "float16")
        elif name.startswith(IMAGE):
            spec[name] = (shape[1:], dtype)
    return FrameLayout(spec, config.stack)


@partial(jax.jit, static_argnames=("trunk", "config"))
def _encode(
    trunk: Trunk,
    config: EncoderConfig,
    params: Any,
    images: dict[str, jax.Array],
    crops: dict[str, CachedCrops],
) -> Frame:
    """Images [H, W, 3] by camera -> features of their K crops, float16 [K, h, w, c]."""
    variants = {camera: _variants(image, crops[camera], config) for camera, image in images.items()}
    maps = features_of(trunk, params, variants)
    return {FEATURES + camera: value.astype(jnp.float16) for camera, value in maps.items()}


def _variants(image: jax.Array, crops: CachedCrops, config: EncoderConfig) -> jax.Array:
    many = jnp.broadcast_to(image, (config.crops, *image.shape))
    if config.pad:
        many = crop(many, jnp.asarray(crops.offsets), config.pad)
    return recolour(many, jnp.asarray(crops.colours)) if config.colour_jitter else many


def features_of(trunk: Trunk, params: Any, images: Mapping[str, Any]) -> dict[str, jax.Array]:
    """Images [N, H, W, 3] by camera -> feature maps float32 [N, h, w, c]; one batch if they are
    of one size."""
    if len({image.shape for image in images.values()}) > 1:
        return {camera: trunk.features(params, image) for camera, image in images.items()}
    maps = trunk.features(params, jnp.concatenate(list(images.values())))
    return dict(zip(images, jnp.split(maps, len(images)), strict=True))
