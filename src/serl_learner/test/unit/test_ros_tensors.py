"""The tensor decoder takes what it should and nothing else."""

import array

import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from serl_interfaces.msg import Tensor
from serl_learner.ros_tensors import (
    DTYPES,
    MAX_TENSORS,
    MalformedMessage,
    tensor_from_msg,
    tensor_to_msg,
    tensors_from_msgs,
)


@pytest.mark.parametrize("dtype", sorted(DTYPES))
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,), (4, 5, 3)])
def test_round_trip_over_the_wire(dtype, shape):
    value = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    wire = serialize_message(tensor_to_msg("x", value))
    found = tensor_from_msg(deserialize_message(wire, Tensor))
    assert found.dtype == value.dtype
    assert found.shape == value.shape
    np.testing.assert_array_equal(found, value)


def test_strided_and_big_endian_arrays_arrive_as_values():
    value = np.arange(12, dtype=">f4").reshape(3, 4)[:, ::2]
    np.testing.assert_array_equal(tensor_from_msg(tensor_to_msg("x", value)), value)


def malformed(**fields):
    message = tensor_to_msg("state/x", np.arange(6, dtype=np.float32))
    for name, value in fields.items():
        setattr(message, name, value)
    return message


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"dtype": "object"}, "dtype 'object' is not one of"),
        ({"dtype": "float64"}, "24 bytes, expected 48"),
        ({"shape": array.array("I", [7])}, "24 bytes, expected 28"),
        ({"shape": array.array("I", [2**31, 2**31])}, "limit 16777216"),
        ({"shape": array.array("I", [1] * 9)}, "9 dimensions, limit 8"),
        ({"data": array.array("B", b"")}, "0 bytes, expected 24"),
        ({"data": array.array("B", np.full(6, np.nan, np.float32).tobytes())}, "nan: not finite"),
        ({"data": array.array("B", np.full(6, -np.inf, np.float32).tobytes())}, "-inf: not finite"),
        ({"dtype": "bool", "shape": array.array("I", [24])}, "bool of value 160, limit 1"),
    ],
)
def test_malformed_tensor_is_refused_with_value_and_limit(fields, says):
    with pytest.raises(MalformedMessage, match=says) as caught:
        tensor_from_msg(malformed(**fields))
    assert "state/x" in str(caught.value)


def test_decoded_array_is_a_copy():
    message = tensor_to_msg("x", np.zeros(3, np.float32))
    value = tensor_from_msg(message)
    value[0] = 1.0
    assert tensor_from_msg(message)[0] == 0.0


def test_names_are_unique_and_few():
    one = tensor_to_msg("x", np.zeros(1, np.float32))
    with pytest.raises(MalformedMessage, match="'x' occurs twice"):
        tensors_from_msgs([one, one])
    with pytest.raises(MalformedMessage, match=f"limit {MAX_TENSORS}"):
        tensors_from_msgs([one] * (MAX_TENSORS + 1))


def test_dtype_that_cannot_be_read_cannot_be_sent():
    with pytest.raises(MalformedMessage, match="complex128"):
        tensor_to_msg("x", np.zeros(2, complex))
