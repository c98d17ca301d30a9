# Batches that still have workers when Python shuts down.

# {address: a reference}. Not a WeakSet, because its callback is Python code: a Ctrl-C that comes while an env is
# released would be raised in it, and lost.
_alive = {}


@atexit.register
def _end_all_workers(double patience=10.0):
    """Ends all workers at exit. Otherwise workers that still step a lane would use libraries that have already shut
    down.

    patience: how many seconds to wait for calls that daemon threads have not finished.
    """
    cdef double end = be_now_ns() + 1e9 * patience
    for batch in [reference() for reference in list(_alive.values())]:
        if batch is None:
            continue
        while not _ends_at_exit(batch) and be_now_ns() < end:
            time.sleep(0.001)


cdef bint _ends_at_exit(batch):
    return (<Joined>batch)._end_at_exit() if type(batch) is Joined else (<Batch>batch)._end_at_exit()
