"""A LeRobot data set, v3.0: tables of frames and of episodes (parquet), videos, and what they are.

Layout and column names are those of lerobot.datasets: many episodes in one file, and
meta/episodes says where each begins.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from serl_franka_bringup.data.lerobot_stats import PictureStatistics, of_numbers, plain
from serl_franka_bringup.data.lerobot_videos import VIDEO_PATH, Videos
from serl_learner.atomic_file import write_file
from serl_learner.types import Record
from serl_learner.vision.cameras import IMAGE

VERSION = "v3.0"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
EPISODES_PATH = "meta/episodes/chunk-000/file-000.parquet"
_STATE, _IMAGES = "observation.state", "observation.images."
_INDEX: dict[str, Any] = {"dtype": "int64", "shape": [1], "names": None}
_DEFAULTS: dict[str, Any] = {
    "timestamp": {"dtype": "float32", "shape": [1], "names": None},
    **{name: dict(_INDEX) for name in ("frame_index", "episode_index", "index", "task_index")},
}


def write(out: Path, episodes: Sequence[Sequence[Record]], instruction: str) -> None:
    """Writes the data set.

    Raises:
      ValueError: episodes are not all of the same keys, or of pictures that a video cannot hold.
    """
    keys = sorted(episodes[0][0].observation)
    cameras = [key for key in keys if key.startswith(IMAGE)]
    vectors = [key for key in keys if not key.startswith(IMAGE)]
    fps = frames_per_second(episodes)
    tables: list[pa.Table] = []
    rows: list[dict[str, Any]] = []
    pictures = {_feature(key): PictureStatistics() for key in cameras}
    with Videos(out, {_feature(k): episodes[0][0].observation[k].shape for k in cameras}, fps) as v:
        for number, records in enumerate(episodes):
            steps = [record for record in records if record.action is not None]
            columns = _columns(steps, vectors, fps, records[-1].success)
            row = _episode_row(number, len(steps), rows, instruction)
            statistics = {name: of_numbers(values) for name, values in columns.items()}
            for key in cameras:
                name, own = _feature(key), PictureStatistics()
                row |= v.begin(name)
                for record in steps:
                    v.write(name, record.observation[key])
                    own.add(record.observation[key])
                row |= v.end(name)
                pictures[name].merge(own)
                statistics[name] = own.values()
            first = row["dataset_from_index"]
            tables.append(_table(columns, number, first))
            rows.append(row | _flat_statistics(statistics))
    table = pa.concat_tables(tables)
    _write_table(table, out / DATA_PATH.format(chunk_index=0, file_index=0))
    _write_table(pa.Table.from_pylist(rows), out / EPISODES_PATH)
    _write_table(_tasks(instruction), out / "meta/tasks.parquet")
    features = _features(episodes[0][0], vectors, cameras, fps)
    whole = {name: plain(of_numbers(_numpy(table, name))) for name in table.column_names}
    whole |= {name: plain(statistics.values()) for name, statistics in pictures.items()}
    _write_json(whole, out / "meta/stats.json")
    _write_json(_info(features, len(rows), len(table), fps, bool(cameras)), out / "meta/info.json")


def frames_per_second(episodes: Sequence[Sequence[Record]]) -> int:
    """What a whole number comes closest to the median period."""
    periods = [np.diff([record.stamp_ns for record in records]) for records in episodes]
    return max(1, round(1e9 / float(np.median(np.concatenate(periods)))))


def _feature(key: str) -> str:
    return _IMAGES + key.removeprefix(IMAGE).replace("/", "_")


def _columns(
    steps: Sequence[Record], vectors: Sequence[str], fps: int, success: bool
) -> dict[str, np.ndarray]:
    """What is known of the steps of an episode, and of its end: [N, n] or [N] by feature."""
    states = [np.concatenate([np.ravel(r.observation[k]) for k in vectors]) for r in steps]
    ended = [record.terminated or record.truncated for record in steps]
    return {
        _STATE: np.array(states, np.float32),
        "action": np.array([record.action for record in steps], np.float32),
        "next.reward": np.array([record.reward for record in steps], np.float32),
        "next.done": np.array(ended, np.bool_),
        "next.success": (np.arange(len(steps)) == len(steps) - 1) & success,
        "timestamp": np.arange(len(steps), dtype=np.float32) / np.float32(fps),
        "frame_index": np.arange(len(steps), dtype=np.int64),
    }


def _episode_row(
    number: int, length: int, rows: Sequence[dict[str, Any]], instruction: str
) -> dict[str, Any]:
    first = rows[-1]["dataset_to_index"] if rows else 0
    return {
        "episode_index": number,
        "tasks": [instruction],
        "length": length,
        "data/chunk_index": 0,
        "data/file_index": 0,
        "dataset_from_index": first,
        "dataset_to_index": first + length,
        "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
    }


def _table(columns: dict[str, np.ndarray], episode: int, first: int) -> pa.Table:
    count = len(columns["action"])
    indices = {
        "episode_index": np.full(count, episode, np.int64),
        "index": np.arange(first, first + count, dtype=np.int64),
        "task_index": np.zeros(count, np.int64),
    }
    return pa.table({name: _arrow(values) for name, values in (columns | indices).items()})


def _arrow(values: np.ndarray) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _numpy(table: pa.Table, name: str) -> np.ndarray:
    return np.array(table[name].to_pylist())


def _flat_statistics(statistics: dict[str, Any]) -> dict[str, Any]:
    return {
        f"stats/{feature}/{name}": value
        for feature, values in statistics.items()
        for name, value in plain(values).items()
    }


def _tasks(instruction: str) -> pa.Table:
    """As pandas writes a frame with the index `task`: LeRobot reads it with pandas."""
    columns = [("task_index", "int64", "int64"), ("task", "unicode", "object")]
    described = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {
                "name": name,
                "field_name": name,
                "pandas_type": kind,
                "numpy_type": numpy_type,
                "metadata": None,
            }
            for name, kind, numpy_type in columns
        ],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }
    table = pa.table({"task_index": pa.array([0], pa.int64()), "task": [instruction]})
    return table.replace_schema_metadata({"pandas": json.dumps(described)})


def _features(
    record: Record, vectors: Sequence[str], cameras: Sequence[str], fps: int
) -> dict[str, Any]:
    assert record.action is not None
    names = [
        f"{key.removeprefix('state/')}.{i}"
        for key in vectors
        for i in range(record.observation[key].size)
    ]
    numbers = {"dtype": "float32", "names": None}
    return {
        _STATE: {"dtype": "float32", "shape": [len(names)], "names": names},
        **{_feature(key): _picture(record.observation[key], fps) for key in cameras},
        "action": {**numbers, "shape": [record.action.size]},
        "next.reward": {**numbers, "shape": [1]},
        "next.done": {"dtype": "bool", "shape": [1], "names": None},
        "next.success": {"dtype": "bool", "shape": [1], "names": None},
        **_DEFAULTS,
    }


def _picture(picture: np.ndarray, fps: int) -> dict[str, Any]:
    height, width, channels = picture.shape
    return {
        "dtype": "video",
        "shape": [height, width, channels],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": height,
            "video.width": width,
            "video.codec": "h264",
            "video.pix_fmt": "yuv420p",
            "video.fps": fps,
            "video.channels": channels,
            "has_audio": False,
            "is_depth_map": False,
        },
    }


def _info(
    features: dict[str, Any], episodes: int, frames: int, fps: int, videos: bool
) -> dict[str, Any]:
    return {
        "codebase_version": VERSION,
        "fps": fps,
        "features": features,
        "total_episodes": episodes,
        "total_frames": frames,
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH if videos else None,
        "robot_type": None,
        "splits": {"train": f"0:{episodes}"},
    }


def _write_table(table: pa.Table, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, compression="snappy")


def _write_json(content: dict[str, Any], path: Path) -> None:
    write_file(path, (json.dumps(content, indent=4) + "\n").encode())
