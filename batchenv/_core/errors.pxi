# What a failed call raises.

class LanePendingError(ResetNeeded, AssertionError):
    """A finished lane was stepped with autoreset disabled. It is also an AssertionError, because SyncVectorEnv raises
    one."""


class LaneError(RuntimeError):
    """The simulators of some lanes failed in a step or a reset, which the other lanes have completed.

    Attributes:
        env_id: int64 array of the lanes that failed. Their observation is zeros; those that failed in a step are
            truncated. The next step resets them; with autoreset disabled, the user must.
        result: what the call would have returned.
        causes: {lane: the exception that its env, or a callback of MuJoCo's, has raised}; empty where nothing in Python
            has failed.
    """

    def __init__(self, message, env_id=None, result=None):
        super().__init__(message)
        self.env_id = env_id
        self.result = result
        self.causes = {}


cdef int _check(int status, be_error *error) except -1:
    if status != BE_OK:
        _raise(error)
    return 0


cdef object _raise(be_error *error):
    message = error.message.decode(errors="replace")
    kind = {BE_ERROR_VALUE: ValueError, BE_ERROR_MEMORY: MemoryError}.get(error.status, RuntimeError)
    raise kind(message)
