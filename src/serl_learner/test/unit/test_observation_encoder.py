"""What actor and critics see of an observation, for every kind of encoder."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from serl_learner.networks.state_vector import state_vector
from serl_learner.vision.config import KINDS, POOLINGS, EncoderConfig
from serl_learner.vision.encoder import ObservationEncoder, encoder_input_spec
from serl_learner.vision.small_cnn import SmallCNN
from serl_learner.vision.trunk import Trunk

SPEC = {
    "image/side": ((32, 48, 3), "uint8"),
    "image/wrist": ((32, 48, 3), "uint8"),
    "state/pose": ((6,), "float32"),
    "state/width": ((1,), "float32"),
}


def no_features(params, images):
    raise AssertionError("the encoder takes feature maps, it does not run the frozen network")


TRUNK = Trunk("toy", "hash", {"kernel": np.ones((3, 7))}, no_features, 16, 7)


def batch_of(config: EncoderConfig, size: int = 3, seed: int = 0) -> dict[str, jax.Array]:
    """Random inputs of the encoder."""
    rng = np.random.default_rng(seed)
    batch = {}
    for key, (shape, dtype) in inputs(config).items():
        values = rng.integers(0, 256, (size, *shape)) if dtype == "uint8" else None
        batch[key] = jnp.asarray(rng.normal(size=(size, *shape)) if values is None else values)
        batch[key] = batch[key].astype(dtype)
    return batch


def inputs(config: EncoderConfig):
    return encoder_input_spec(SPEC, config, TRUNK if config.frozen else None)


@cache
def fresh(config: EncoderConfig):
    """(jitted (parameters, batch) -> codes, parameters)."""
    encoder = ObservationEncoder(config)
    variables = jax.jit(encoder.init)(jax.random.PRNGKey(0), batch_of(config))
    encode = jax.jit(lambda params, batch: encoder.apply({"params": params}, batch))
    return encode, variables["params"]


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("kind", ["efficientnet_lite0", "small"])
def test_a_code_for_each_camera_then_the_state(kind, pooling):
    config = EncoderConfig(kind=kind, pooling=pooling, latent=5)
    encode, params = fresh(config)
    batch = batch_of(config)
    out = encode(params, batch)
    assert out.shape == (3, 2 * 5 + 7)
    assert out.dtype == jnp.float32
    assert (jnp.abs(out[:, :10]) < 1).all()
    np.testing.assert_array_equal(out[:, 10:], state_vector(batch))


@pytest.mark.parametrize("kind", ["efficientnet_lite0", "small"])
def test_each_camera_has_parameters_of_its_own_and_moves_its_own_code_only(kind):
    config = EncoderConfig(kind=kind, latent=5)
    encode, params = fresh(config)
    assert sorted(params) == ["camera_side", "camera_wrist"]
    batch = batch_of(config)
    key = next(key for key in batch if key.endswith("/wrist"))
    other = batch | {key: batch_of(config, seed=1)[key]}
    change = encode(params, batch) - encode(params, other)
    np.testing.assert_array_equal(change[:, :5], np.zeros((3, 5)))
    assert (jnp.abs(change[:, 5:10]).max(axis=1) > 1e-3).all()
    same = batch | {key: batch[key.replace("wrist", "side")]}
    codes = encode(params, same)
    assert float(jnp.abs(codes[:, :5] - codes[:, 5:10]).max()) > 1e-3


def test_the_frozen_network_has_no_gradient_because_it_is_no_parameter():
    config = EncoderConfig(kind="efficientnet_lite0", pooling="average", latent=5)
    encode, params = fresh(config)
    gradient = jax.grad(lambda p: encode(p, batch_of(config)).sum())(params)
    shapes = jax.tree.map(jnp.shape, gradient)["camera_side"]
    assert shapes == {
        "Code_0": {
            "Dense_0": {"kernel": (7, 5), "bias": (5,)},
            "LayerNorm_0": {"scale": (5,), "bias": (5,)},
        }
    }


def test_every_parameter_of_the_small_network_is_trained():
    config = EncoderConfig(kind="small", film=True, proprio_latent=4, latent=5)
    encode, params = fresh(config)
    weights = jax.random.normal(jax.random.PRNGKey(1), (3, 14))

    def loss(p):
        return (encode(p, batch_of(config)) * weights).sum()

    for path, leaf in jax.tree_util.tree_leaves_with_path(jax.grad(loss)(params)):
        assert float(jnp.abs(leaf).max()) > 0, jax.tree_util.keystr(path)


def test_the_small_network_halves_its_input_four_times():
    images = jax.ShapeDtypeStruct((2, 128, 128, 3), jnp.uint8)
    maps, _ = jax.eval_shape(SmallCNN().init_with_output, jax.random.PRNGKey(0), images)
    assert maps.shape == (2, 7, 7, 256)


@pytest.mark.parametrize("kind", ["efficientnet_lite0", "small"])
def test_the_frames_of_a_stack_are_told_apart(kind):
    config = EncoderConfig(kind=kind, stack=2, latent=5)
    encode, params = fresh(config)
    batch = batch_of(config)
    turned = {k: v if k.startswith("state") else v[:, ::-1] for k, v in batch.items()}
    out, other = (encode(params, b) for b in (batch, turned))
    assert float(jnp.abs(out - other).max()) > 1e-3


def test_the_cells_of_stacked_frames_stay_together():
    """The mean over cells does not see where in its frame a cell is."""
    config = EncoderConfig(stack=2, pooling="average", latent=5)
    encode, params = fresh(config)
    batch = batch_of(config)
    moved = {k: v if k.startswith("state") else jnp.roll(v, 1, axis=3) for k, v in batch.items()}
    np.testing.assert_allclose(encode(params, batch), encode(params, moved), atol=1e-5)


def test_a_wrong_number_of_frames_is_refused():
    encode, params = fresh(EncoderConfig(stack=2))
    with pytest.raises(ValueError, match=r"\(3, 1, 2, 3, 7\) are not \[B, 2, h, w, c\]"):
        encode(params, batch_of(EncoderConfig(stack=1)))


def test_cached_features_may_be_of_half_precision():
    config = EncoderConfig(latent=5)
    encode, params = fresh(config)
    batch = batch_of(config)
    half = {k: v.astype(jnp.float16) if "feat" in k else v for k, v in batch.items()}
    out = encode(params, half)
    assert out.dtype == jnp.float32
    np.testing.assert_allclose(out, encode(params, batch), atol=5e-3)


def test_the_state_gets_a_code_when_asked_for():
    config = EncoderConfig(latent=5, proprio_latent=4)
    encode, params = fresh(config)
    out = encode(params, batch_of(config))
    assert out.shape == (3, 14)
    assert (jnp.abs(out) < 1).all()
    assert "proprio" in params


def test_film_lets_the_state_change_the_codes():
    config = EncoderConfig(latent=5, film=True)
    encode, params = fresh(config)
    params = jax.tree.map(lambda leaf: leaf + 0.1, params)  # fresh, FiLM changes nothing
    batch = batch_of(config)
    other = batch | {"state/pose": batch["state/pose"] + 1.0}
    change = encode(params, batch) - encode(params, other)
    assert (jnp.abs(change[:, :10]).max(axis=1) > 1e-3).all()


def test_film_without_a_state_is_refused():
    batch = {k: v for k, v in batch_of(EncoderConfig()).items() if k.startswith("features")}
    with pytest.raises(ValueError, match=r"film needs state/\*"):
        ObservationEncoder(EncoderConfig(film=True)).init(jax.random.PRNGKey(0), batch)


@pytest.mark.parametrize("kind", ["efficientnet_lite0", "small"])
def test_a_blind_encoder_sees_the_state_only(kind):
    config = EncoderConfig(kind=kind, blank=True, film=True, latent=5)
    encode, params = fresh(config)
    params = jax.tree.map(lambda leaf: leaf + 0.1, params)
    batch, other = batch_of(config), batch_of(config, seed=1)
    other = {k: batch[k] if k.startswith("state") else v for k, v in other.items()}
    out, changed = (encode(params, b) for b in (batch, other))
    np.testing.assert_array_equal(out, changed)


@pytest.mark.parametrize("kind", KINDS)
def test_without_cameras_it_is_the_state_vector_and_has_no_parameters(kind):
    encoder = ObservationEncoder(EncoderConfig(kind=kind, proprio_latent=4, film=True))
    batch = {"state/pose": jnp.arange(12.0).reshape(2, 6), "state/width": jnp.ones((2, 1))}
    assert encoder.init(jax.random.PRNGKey(0), batch) == {}
    np.testing.assert_array_equal(encoder.apply({}, batch), state_vector(batch))


def test_nothing_to_see_is_refused():
    with pytest.raises(ValueError, match=r"no state/\* and no features/\*"):
        ObservationEncoder(EncoderConfig()).apply({}, {"image/side": jnp.zeros((1, 1, 4, 4, 3))})


def test_inputs_are_feature_maps_of_frozen_networks_and_frames_of_others():
    frozen = inputs(EncoderConfig(stack=2))
    assert frozen["features/wrist"] == ((2, 2, 3, 7), "float32")
    assert frozen["state/pose"] == ((6,), "float32")
    assert not any(key.startswith("image/") for key in frozen)
    assert inputs(EncoderConfig(kind="small"))["image/side"] == ((1, 32, 48, 3), "uint8")


@pytest.mark.parametrize("image", [((32, 48), "uint8"), ((32, 48, 3), "float32")])
def test_an_image_of_another_layout_is_refused(image):
    with pytest.raises(ValueError, match=r"image/side is .* not uint8 \[H, W, 3\]"):
        encoder_input_spec({"image/side": image}, EncoderConfig(), TRUNK)
