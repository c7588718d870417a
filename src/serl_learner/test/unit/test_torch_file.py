"""Tensors come out of torch checkpoints of both formats; nothing else does.

torch_zip.pth and torch_legacy.pth were saved by torch 2.13 (`torch.save`, the latter with
`_use_new_zipfile_serialization=False`): base = arange(24) as float32; an OrderedDict of
matrix = base[:12] as 3 x 4, transposed; tail = base[20:]; half = [1.5, -2] as float16; count = 7.
"""

from __future__ import annotations

import io
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

from serl_learner.vision.torch_file import read_state_dict
from serl_learner.vision.weights import WeightsError

FOLDER = Path(__file__).parent


@pytest.mark.parametrize("name", ["torch_zip.pth", "torch_legacy.pth"])
def test_tensors_come_back(name):
    arrays = read_state_dict((FOLDER / name).read_bytes())
    assert sorted(arrays) == ["count", "half", "matrix", "tail"]
    np.testing.assert_array_equal(arrays["matrix"], np.arange(12).reshape(3, 4).T)
    np.testing.assert_array_equal(arrays["tail"], [20, 21, 22, 23])
    np.testing.assert_array_equal(arrays["half"], [1.5, -2])
    assert arrays["half"].dtype == np.float16
    assert arrays["count"] == 7


def legacy(body: bytes, keys: list[str], storages: bytes) -> bytes:
    head = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    return b"".join(pickle.dumps(part, 2) for part in head) + body + pickle.dumps(keys) + storages


def one_tensor(offset: int, size: int, step: int, change: str = "") -> bytes:
    """A legacy file {"a": tensor} over a storage of 4 numbers, its object pickle by hand."""
    body = (
        "(dS'a'\nctorch._utils\n_rebuild_tensor_v2\n("
        f"(S'storage'\nctorch\nFloatStorage\nS'0'\nS'cpu'\nI4\nNtQ{change}"
        f"I{offset}\n(I{size}\nt(I{step}\nttRs."
    )
    return legacy(body.encode(), ["0"], struct.pack("<q4f", 4, 0.0, 1.0, 2.0, 3.0))


def test_a_tensor_is_a_view_of_its_storage():
    np.testing.assert_array_equal(read_state_dict(one_tensor(1, 2, 2))["a"], [1, 3])


@pytest.mark.parametrize(
    ("offset", "size", "step"), [(0, 5, 1), (1, 4, 1), (0, 3, 2), (4, 1, 1), (-1, 2, 1), (3, 2, -1)]
)
def test_a_tensor_outside_its_storage_is_refused(offset, size, step):
    with pytest.raises(WeightsError, match="outside its storage|negative"):
        read_state_dict(one_tensor(offset, size, step))


def test_a_file_cannot_alter_a_storage():
    with pytest.raises(WeightsError, match="alters a _Storage"):
        read_state_dict(one_tensor(0, 4, 1, change="(dS'count'\nI99\nsb"))


def test_other_globals_are_refused_by_name():
    with pytest.raises(WeightsError, match="names 'os.system'"):
        read_state_dict(legacy(b"cos\nsystem\n(S'true'\ntR.", [], b""))
    with pytest.raises(WeightsError, match="names 'builtins.eval'"):
        read_state_dict(b"cbuiltins\neval\n.")
    with pytest.raises(WeightsError, match=r"names 'torch\._utils\._rebuild_parameter'"):
        read_state_dict(zipped(b"ctorch._utils\n_rebuild_parameter\n."))


def zipped(body: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", body)
    return file.getvalue()


def test_a_missing_storage_is_said():
    body = one_tensor(0, 4, 1)
    content = body[body.index(b"(dS'a'") : body.index(b"ttRs.") + 5]
    with pytest.raises(WeightsError, match="no item named 'archive/data/0'"):
        read_state_dict(zipped(content))


@pytest.mark.parametrize("name", ["torch_zip.pth", "torch_legacy.pth"])
@pytest.mark.parametrize("kept", [0, 10, 300, -3])
def test_damage_is_said(name, kept):
    with pytest.raises(WeightsError):
        read_state_dict((FOLDER / name).read_bytes()[:kept])


def test_a_file_of_something_else_is_refused():
    with pytest.raises(WeightsError, match="does not begin as a torch checkpoint"):
        read_state_dict(pickle.dumps(3))
    with pytest.raises(WeightsError, match="holds a list, not a dict of tensors"):
        read_state_dict(legacy(pickle.dumps([]), [], b""))
