"""Records survive the wire; malformed ones do not become records (case 11)."""

import array
import dataclasses

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from serl_interfaces.msg import Relabel as RelabelMessage
from serl_interfaces.msg import Transition
from serl_learner.ros_records import (
    record_from_msg,
    record_to_msg,
    relabel_from_msg,
    relabel_to_msg,
)
from serl_learner.ros_tensors import MalformedMessage, tensor_to_msg
from serl_learner.types import Record, Relabel, Source


def random_record(rng: np.random.Generator, last: bool) -> Record:
    return Record(
        session=rng.bytes(16),
        seq=int(rng.integers(2**63)),
        episode=int(rng.integers(2**40)),
        step=int(rng.integers(2**31)),
        observation={
            "image/wrist": rng.integers(0, 256, (4, 4, 3), np.uint8),
            "state/pose": rng.normal(size=6).astype(np.float32),
        },
        action=None if last else rng.uniform(-1, 1, 6).astype(np.float32),
        reward=float(np.float32(rng.normal())),
        terminated=bool(rng.integers(2)),
        truncated=bool(rng.integers(2)),
        last=last,
        aborted=bool(rng.integers(2)),
        success=bool(rng.integers(2)),
        source=Source(int(rng.integers(5))),
        policy_version=int(rng.integers(2**40)),
        stamp_ns=int(rng.integers(2**60)),
        actor_id=f"actor{rng.integers(9)}",
        extras={"q": rng.normal(size=7)},
    )


def assert_same(found: Record, expected: Record) -> None:
    """Equal in every field, arrays bit by bit with their dtype."""
    for field in dataclasses.fields(Record):
        a, b = getattr(found, field.name), getattr(expected, field.name)
        if isinstance(b, dict):
            assert a.keys() == b.keys()
            for key in b:
                assert a[key].dtype == b[key].dtype
                np.testing.assert_array_equal(a[key], b[key])
        elif isinstance(b, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b, field.name


@pytest.mark.parametrize("last", [False, True])
def test_round_trip_over_the_wire(last):
    rng = np.random.default_rng(3)
    for _ in range(20):
        record = random_record(rng, last)
        wire = serialize_message(record_to_msg(record))
        assert_same(record_from_msg(deserialize_message(wire, Transition)), record)


def message(**fields) -> Transition:
    result = record_to_msg(dataclasses.replace(random_record(np.random.default_rng(0), False)))
    for name, value in fields.items():
        setattr(result, name, value)
    return result


NAN = array.array("f", [0.0, float("nan")])


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"action": NAN}, "action .*nan.* not finite"),
        ({"action": array.array("f")}, "action .* is empty"),
        ({"action": array.array("f", [0.0] * 65)}, "65 values, limit 64"),
        ({"last": True}, "last record has an action of 6 values, expected 0"),
        ({"reward": float("inf")}, "reward inf is not finite"),
        ({"source": 9}, "source 9, limit 4"),
        ({"actor_id": "a" * 200}, "200 letters, limit 128"),
        ({"extras": [tensor_to_msg("q", np.full(1, np.nan))]}, "'q' holds nan"),
    ],
)
def test_case11_malformed_record_is_refused_with_value_and_limit(fields, says):
    bad = message(**fields)
    with pytest.raises(MalformedMessage, match=says) as caught:
        record_from_msg(bad)
    assert f"record {bad.seq}" in str(caught.value)


def test_case11_malformed_observation_is_refused():
    bad = message()
    bad.observation.tensors[0].data = bad.observation.tensors[0].data[:-1]
    with pytest.raises(MalformedMessage, match="'image/wrist': 47 bytes, expected 48"):
        record_from_msg(bad)


RELABEL = Relabel(bytes(range(16)), 2**40, 7, 9, -0.5, True, stamp_ns=123, actor_id="a")


def test_relabel_round_trip_over_the_wire():
    wire = serialize_message(relabel_to_msg(RELABEL))
    assert relabel_from_msg(deserialize_message(wire, RelabelMessage)) == RELABEL


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"reward": float("nan")}, "reward nan is not finite"),
        ({"first_seq": 10}, "records 10..9 are no range below"),
        ({"last_seq": 2**40}, r"records 7..\d+ are no range below 1099511627776"),
        ({"actor_id": "a" * 200}, "200 letters, limit 128"),
    ],
)
def test_case11_malformed_relabel_is_refused_with_value_and_limit(fields, says):
    bad = relabel_to_msg(RELABEL)
    for name, value in fields.items():
        setattr(bad, name, value)
    with pytest.raises(MalformedMessage, match=says) as caught:
        relabel_from_msg(bad)
    assert f"relabel {bad.seq}" in str(caught.value)
