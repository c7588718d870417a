from __future__ import annotations

import json
import math

import pytest

from serl_franka_bringup.output import binomial_interval, write_json


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(47, 50, 0.8378, 0.9794), (50, 50, 0.9287, 1.0), (0, 50, 0.0, 0.0713), (0, 0, 0.0, 1.0)],
)
def test_wilson_interval_matches_published_values(successes, trials, low, high):
    assert binomial_interval(successes, trials) == pytest.approx((low, high), abs=1e-4)


def test_json_is_strict(tmp_path):
    path = tmp_path / "deeper" / "result.json"
    write_json(path, {"a": math.nan, "b": [1.0, math.inf], "c": {"d": True}})
    assert json.loads(path.read_text()) == {"a": None, "b": [1.0, None], "c": {"d": True}}
