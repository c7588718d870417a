"""The generated messages serialise, and every field is documented."""

import pathlib

import pytest
from rclpy.serialization import deserialize_message, serialize_message

from serl_interfaces.msg import Observation, Tensor, Transition

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEFINITIONS = sorted(p for kind in ("msg", "srv", "action") for p in (ROOT / kind).iterdir())


def test_transition_round_trips():
    tensor = Tensor(name="state/tcp_pose", dtype="float32", shape=[2], data=b"\x00\x00\x80\x3f" * 2)
    record = Transition(seq=2**63, action=[0.5, -1.0], observation=Observation(tensors=[tensor]))
    record.session[0] = 255

    copy = deserialize_message(serialize_message(record), Transition)

    assert copy == record
    assert bytes(copy.observation.tensors[0].data) == b"\x00\x00\x80\x3f" * 2


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda p: p.name)
def test_every_definition_says_what_it_is(path):
    assert path.read_text().startswith("# ")
