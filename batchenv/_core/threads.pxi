# How many threads can be used, and on which CPUs.

cdef double _fork_ns = 0.0


cdef bytes _numa_folder():
    """The folder that describes the NUMA nodes; b"" means the system's. Tests set BATCHENV_NUMA to another one."""
    return os.fsencode(os.environ.get("BATCHENV_NUMA") or "")


def numa_nodes():
    """{"node0": how many of its CPUs this process may use, ...}; {} if that is unknown."""
    cdef be_cpus usable
    cdef be_node *nodes
    cdef bytes folder = _numa_folder()
    be_cpus_usable(&usable)
    nodes = <be_node *>PyMem_Calloc(BE_MAX_NODES, sizeof(be_node))
    if nodes == NULL:
        raise MemoryError()
    try:
        count = be_nodes_read(<const char *>folder if folder else NULL, &usable, nodes)
        return {f"node{nodes[i].id}": nodes[i].num_cpus for i in range(count)}
    finally:
        PyMem_Free(nodes)


def default_threads():
    """Threads used when num_threads is None: the CPUs this process may run on, or fewer where OMP_NUM_THREADS or a
    container's CPU limit (rounded up) say so; 1 in a forked child."""
    from batchenv.system import cgroup

    if be_forked():
        return 1
    limit = cgroup.cpu_limit()
    cpus = len(usable_cpus())
    if limit is not None:
        cpus = min(cpus, math.ceil(limit))
    return max(1, min(cpus, be_max_threads()))


def usable_cpus():
    """The CPUs this process may use, ascending. If OpenMP binds threads (OMP_PROC_BIND), it has already bound the
    program's own thread to a few CPUs before this can be asked. So then the CPUs of OpenMP's places are returned."""
    cdef int place
    cdef int[::1] ids
    cpus = set()
    for place in range(be_num_places()):
        ids = np.zeros(be_place_size(place) + 1, np.intc)
        be_place_cpus(place, &ids[0])
        cpus.update(ids[:be_place_size(place)])
    if not cpus:
        cpus = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return sorted(cpus)


class _Unbound:
    """A context in which to start threads. Threads inherit the CPUs of the thread that starts them, which OpenMP may
    have bound to a few; here it may use all usable ones."""

    def __enter__(self):
        self.before = None
        if be_num_places() and hasattr(os, "sched_setaffinity"):
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, usable_cpus())
            self.before = before

    def __exit__(self, *_):
        if self.before is not None:
            os.sched_setaffinity(0, self.before)


def _warn_of_threads(int wanted, int had, str what):
    from batchenv.system.limits import thread_limits

    used = f"{had} are used" if had else "the calling thread does the work"
    logger.warn(f"{wanted} {what} were asked for, but only {had} can be had here, and {used}; what may limit "
                f"them: {thread_limits()}. Raise that limit, or make the env with num_threads={max(1, had)}",
                category=RuntimeWarning, stacklevel=2)


cdef double _measure_fork(int threads):
    """How many nanoseconds an empty parallel region takes: the least of several measurements."""
    global _fork_ns
    cdef double start = 0.0, least = 1e9, spent = 0.0
    cdef int _, p, total = 0
    if _fork_ns == 0.0:
        with nogil:
            threads = be_team_size(threads, 0)
            for _ in range(20):
                start = be_now_ns()
                for p in prange(threads, num_threads=threads, schedule="static", chunksize=1):
                    total += p
                least = min(least, be_now_ns() - start)
                spent += be_now_ns() - start
                if spent > 2e6:  # the machine is busy, so more measurements are of no use
                    break
        _fork_ns = least
    return _fork_ns
