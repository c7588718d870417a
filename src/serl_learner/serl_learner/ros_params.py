"""PolicyParams message <-> EncodedParams."""

from __future__ import annotations

import array

from serl_interfaces.msg import PolicyParams
from serl_learner.params_codec import EncodedParams


def params_to_msg(encoded: EncodedParams) -> PolicyParams:
    """The message of one version; the caller stamps its header."""
    message = PolicyParams(
        version=encoded.version,
        learner_step=encoded.learner_step,
        layout_hash=encoded.layout_hash,
        codec=encoded.codec,
        crc32=encoded.crc32,
    )
    message.data = array.array("B", encoded.data)
    return message


def params_from_msg(message: PolicyParams) -> EncodedParams:
    """What a message carries, unchecked: `decode` checks."""
    return EncodedParams(
        version=int(message.version),
        learner_step=int(message.learner_step),
        layout_hash=message.layout_hash,
        codec=message.codec,
        crc32=int(message.crc32),
        data=bytes(message.data),
    )
