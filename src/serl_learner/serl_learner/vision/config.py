"""Which image encoder is used, how its feature maps become a vector, how images are augmented."""

from __future__ import annotations

import re
from dataclasses import dataclass

FROZEN = ("efficientnet_lite0", "resnet10")
KINDS = (*FROZEN, "small")
POOLINGS = ("flatten", "spatial_learned_embeddings", "spatial_softmax", "average")


@dataclass(frozen=True)
class EncoderConfig:
    """Choices of the image encoder; they matter only for observations with `image/*` keys.

    kind: `efficientnet_lite0` and `resnet10` are frozen, `small` is trained end to end.
    weights: file with the parameters of a frozen network; empty: those of an installed package.
    weights_sha256: what the file must hash to; empty: not checked.
    pooling: from feature map to vector. `flatten` squeezes the channels to 16 first.
    latent: width of each camera's code, in (-1, 1).
    proprio_latent: width of the code of the state vector; 0: the state vector as it is.
    film: modulate the feature maps by the state vector.
    stack: number of consecutive frames of each camera that the policy sees.
    crops: cached variants of each frame; the first is the plain frame, the rest random crops.
    pad: how far a random crop shifts a frame in each direction [pixels].
    colour_jitter: relative change of brightness, contrast and saturation, 0 (off) to 1.
    blank: replace all images by zeros: the baseline that sees nothing.
    """

    kind: str = "efficientnet_lite0"
    weights: str = ""
    weights_sha256: str = ""
    pooling: str = "flatten"
    latent: int = 64
    proprio_latent: int = 0
    film: bool = False
    stack: int = 1
    crops: int = 4
    pad: int = 4
    colour_jitter: float = 0.0
    blank: bool = False

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, KINDS)
        _one_of("pooling", self.pooling, POOLINGS)
        _at_least("latent", self.latent, 1)
        _at_least("proprio_latent", self.proprio_latent, 0)
        _at_least("stack", self.stack, 1)
        _at_least("crops", self.crops, 1)
        _at_least("pad", self.pad, 0)
        if not 0.0 <= self.colour_jitter <= 1.0:
            raise ValueError(f"colour_jitter {self.colour_jitter} is not in [0, 1]")
        if (self.weights or self.weights_sha256) and not self.frozen:
            raise ValueError(
                f"weights {self.weights or self.weights_sha256!r} are given, but encoder"
                f" {self.kind!r} is trained from scratch; weights are for {', '.join(FROZEN)}"
            )
        if self.weights_sha256 and not re.fullmatch("[0-9a-fA-F]{64}", self.weights_sha256):
            raise ValueError(f"weights_sha256 {self.weights_sha256!r} is not 64 hex digits")

    @property
    def frozen(self) -> bool:
        """Whether the network is pretrained and never updated, so that its output can be kept."""
        return self.kind in FROZEN


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} {value!r} is not one of {', '.join(allowed)}")


def _at_least(name: str, value: int, limit: int) -> None:
    if value < limit:
        raise ValueError(f"{name} {value} is below {limit}")
