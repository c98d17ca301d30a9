from batchenv._moved import moved

__getattr__ = moved(__name__, "", ENV_TYPES="batchenv.integrations")
