from batchenv._moved import moved

__getattr__ = moved(__name__, "batchenv.engines.atari.games")
