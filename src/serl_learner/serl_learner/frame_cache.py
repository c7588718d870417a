"""The frames of logged episodes: from their file, or encoded, which makes the file."""

from __future__ import annotations

from pathlib import Path

from serl_learner.disk_space import DiskSpace
from serl_learner.episodes import Episode, learned_entries
from serl_learner.feature_files import FeatureFiles, Frames, features_key
from serl_learner.frame_encoder import FrameEncoder
from serl_learner.segments import halves
from serl_learner.types import Record


class FrameCache:
    """Keeps a file of features beside every file of the log with frames that are trained on."""

    def __init__(self, encoder: FrameEncoder, directory: Path, space: DiskSpace) -> None:
        """`encoder` must have a frozen network."""
        assert encoder.trunk is not None
        key = features_key(encoder.trunk, encoder.config, encoder.layout)
        self._encoder = encoder
        self.files = FeatureFiles(directory, key, encoder.layout, space)

    def restore(self, path: Path, episode: Episode) -> Frames:
        """The frames of an episode's records by number; what its file lacks is encoded."""
        records = trained_on(episode)
        if not records:
            return {}
        kept = self.files.read(path, episode.session)
        found = {r.seq: kept[r.seq] for r in records if r.seq in kept}
        missing = [record for record in records if record.seq not in found]
        if missing:
            frames = self._encoder.frames(missing)
            found |= {r.seq: frame for r, frame in zip(missing, frames, strict=True)}
            self.files.write(path, episode.session, found)
        return found

    def keep(self, path: Path, episode: Episode) -> None:
        """Writes the file of an episode that was just logged; what is not known by now is left
        to the next restart."""
        known = ((record.seq, self._encoder.known(record)) for record in trained_on(episode))
        frames = {seq: frame for seq, frame in known if frame is not None}
        self.files.write(path, episode.session, frames)


def trained_on(episode: Episode) -> list[Record]:
    """Records of which transitions may come."""
    learned = (entry for entry in learned_entries(episode) if isinstance(entry, Record))
    return [record for record in learned if any(halves(record.source))]
