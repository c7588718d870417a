from __future__ import annotations

import json
import math

from serl_franka_bringup.output import write_json


def test_json_is_strict(tmp_path):
    path = tmp_path / "deeper" / "result.json"
    write_json(path, {"a": math.nan, "b": [1.0, math.inf], "c": {"d": True}})
    assert json.loads(path.read_text()) == {"a": None, "b": [1.0, None], "c": {"d": True}}
