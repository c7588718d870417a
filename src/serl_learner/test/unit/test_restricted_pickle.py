"""Arrays come out of pickles as they went in; whatever else a pickle names is refused."""

from __future__ import annotations

import collections
import os
import pickle

import jax.numpy as jnp
import numpy as np
import pytest
from flax.core import FrozenDict

from serl_learner.vision.restricted_pickle import load_arrays
from serl_learner.vision.weights import WeightsError


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_numpy_arrays_come_back(protocol):
    rng = np.random.default_rng(0)
    tree = {
        "a": {"kernel": rng.normal(size=(3, 2, 4)).astype(np.float32)},
        "fortran": np.asfortranarray(rng.normal(size=(3, 5))),
        "swapped": np.arange(4, dtype=">f4"),
        "bytes": np.arange(6, dtype=np.uint8).reshape(2, 3),
        "scalar": np.array(2.5, np.float32),
    }
    read = load_arrays(pickle.dumps(tree, protocol))
    np.testing.assert_array_equal(read["a"]["kernel"], tree["a"]["kernel"])
    for key in ("fortran", "swapped", "bytes", "scalar"):
        np.testing.assert_array_equal(read[key], tree[key])
        assert read[key].dtype == tree[key].dtype


def test_jax_arrays_and_flax_dicts_come_back():
    tree = FrozenDict({"conv": {"kernel": jnp.arange(6.0).reshape(2, 3)}})
    read = load_arrays(pickle.dumps(tree))
    np.testing.assert_array_equal(read["conv"]["kernel"], np.arange(6.0).reshape(2, 3))
    read = load_arrays(pickle.dumps(collections.OrderedDict(a=np.ones(2))))
    np.testing.assert_array_equal(read["a"], [1, 1])


def test_the_core_of_numpy_1_is_known():
    """SERL's file was written by NumPy 1, whose modules have other names."""
    content = pickle.dumps({"a": np.arange(3)}, 2)
    assert b"numpy._core" in content
    read = load_arrays(content.replace(b"numpy._core", b"numpy.core"))
    np.testing.assert_array_equal(read["a"], np.arange(3))


class Runs:
    """Runs a command when a careless reader loads it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_code_is_refused_by_name_and_does_not_run(tmp_path):
    path = tmp_path / "ran"
    with pytest.raises(WeightsError, match="names 'posix.system'"):
        load_arrays(pickle.dumps({"a": np.ones(2), "b": Runs(path)}))
    assert not path.exists()


@pytest.mark.parametrize(
    "name", [b"builtins\neval", b"numpy\nload", b"os\nsystem", b"numpy._core.multiarray\nscalar"]
)
def test_other_globals_are_refused_by_name(name):
    full = name.decode().replace("\n", ".")
    with pytest.raises(WeightsError, match=f"names '{full}'"):
        load_arrays(b"c" + name + b"\n.")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.array([{}, "x"], object), "dtype 'O8'"),
        (np.array(["ab"]), "dtype 'U2'"),
        ("text", "a str at /a"),
        (None, "a NoneType at /a"),
        ([np.ones(2)], "a list at /a"),
    ],
)
def test_only_numbers_are_read(value, message):
    with pytest.raises(WeightsError, match=message):
        load_arrays(pickle.dumps({"a": value}))


def test_a_file_cannot_alter_the_functions_it_names():
    with pytest.raises(WeightsError, match="alters a StandIn"):
        load_arrays(b"cnumpy\nndarray\n}b.")


@pytest.mark.parametrize("content", [b"", b"not a pickle", pickle.dumps({"a": np.ones(9)})[:-20]])
def test_damage_is_said(content):
    with pytest.raises(WeightsError, match="no readable pickle"):
        load_arrays(content)


def test_a_file_of_something_else_is_refused():
    with pytest.raises(WeightsError, match="holds a PickledArray, not a dict"):
        load_arrays(pickle.dumps(np.ones(2)))
