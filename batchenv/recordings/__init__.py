"""Records envs into files, and gives their steps back."""

from batchenv.recordings.episodes import Episodes
from batchenv.recordings.errors import DamagedRecording, RecordingError, ReplayMismatch
from batchenv.recordings.minari import check_minari
from batchenv.recordings.recorder import Recorder, record
from batchenv.recordings.recording import Recording, replay
from batchenv.recordings.window import Window

__all__ = [
    "DamagedRecording", "Episodes", "Recorder", "Recording", "RecordingError", "ReplayMismatch", "Window",
    "check_minari", "record", "replay",
]  # fmt: skip
