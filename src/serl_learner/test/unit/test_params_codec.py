"""Published parameters arrive whole and fitting, or not at all."""

import dataclasses

import numpy as np
import pytest
from toy import SMALL, SPEC, small_learner

from serl_learner.params_codec import (
    CorruptParams,
    LayoutMismatch,
    decode,
    encode,
    read_params,
    write_params,
)
from serl_learner.policy import Policy


@pytest.fixture(scope="module")
def policy():
    return Policy(SPEC, 2, SMALL)


@pytest.fixture(scope="module")
def params():
    return small_learner().policy_params()


@pytest.fixture
def encoded(params, policy):
    return encode(params, version=3, learner_step=40, layout_hash=policy.layout_hash)


def test_round_trip_gives_the_same_actions(encoded, params, policy):
    decoded = decode(encoded, policy.template, policy.layout_hash)
    observation = {"state/a": np.ones(2, np.float32), "state/b": np.ones(1, np.float32)}
    np.testing.assert_array_equal(
        policy.mode(decoded, observation), policy.mode(params, observation)
    )
    assert (encoded.version, encoded.learner_step) == (3, 40)


@pytest.mark.parametrize("position", [0, 100, -1])
def test_flipped_bit_is_refused(encoded, policy, position):
    data = bytearray(encoded.data)
    data[position] ^= 1
    with pytest.raises(CorruptParams, match=f"expected {encoded.crc32:#010x}"):
        decode(dataclasses.replace(encoded, data=bytes(data)), policy.template, policy.layout_hash)


def test_another_layout_is_refused_with_both_named(encoded, policy):
    other = Policy(SPEC, 2, dataclasses.replace(SMALL, hidden=(16,)))
    with pytest.raises(LayoutMismatch, match=f"{policy.layout_hash}.*{other.layout_hash}"):
        decode(encoded, other.template, other.layout_hash)


def test_another_codec_is_refused(encoded, policy):
    pickled = dataclasses.replace(encoded, codec="pickle")
    with pytest.raises(LayoutMismatch, match="'pickle', expected 'flax-msgpack'"):
        decode(pickled, policy.template, policy.layout_hash)


def test_parameters_that_are_not_finite_are_refused(params, policy):
    broken = {**params, "mean": {**params["mean"], "bias": np.array([0.0, np.nan], np.float32)}}
    encoded = encode(broken, 1, 0, policy.layout_hash)
    with pytest.raises(CorruptParams, match=r"\['mean'\]\['bias'\].*finite"):
        decode(encoded, policy.template, policy.layout_hash)


def test_another_shape_under_the_same_hash_is_refused(params, policy):
    broken = {**params, "mean": {**params["mean"], "bias": np.zeros(5, np.float32)}}
    encoded = encode(broken, 1, 0, policy.layout_hash)
    with pytest.raises(LayoutMismatch, match=r"float32\(5,\), expected float32\(2,\)"):
        decode(encoded, policy.template, policy.layout_hash)


def test_file_round_trip(encoded, tmp_path):
    write_params(tmp_path / "best", encoded)
    assert read_params(tmp_path / "best") == encoded
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_damaged_file_is_refused(encoded, tmp_path):
    write_params(tmp_path / "best", encoded)
    content = (tmp_path / "best").read_bytes()
    for damaged in (b"", content[:10], content[:60], content[:-1], b"x" + content):
        (tmp_path / "best").write_bytes(damaged)
        with pytest.raises(CorruptParams):
            read_params(tmp_path / "best")
