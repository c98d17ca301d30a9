from batchenv._moved import moved

__getattr__ = moved(
    __name__, "batchenv.integrations.envpool", make_dm="batchenv", make_gymnasium="batchenv", make_spec="batchenv"
)
