# Seeds, as the words that csrc/include/rng.h hashes.

cpdef bytes seed_words(object seed):
    """A non-negative int as little-endian 32-bit words."""
    return seed.to_bytes((seed.bit_length() + 31) // 32 * 4, "little")


cdef object _words_of_seeds(seeds, mask):
    """The argument of `Batch._seed` for the seeds of `Batch.reset`: the words of the seed of lane 0, if seeds count up
    over all lanes, or a list of (lane, words of its seed)."""
    if isinstance(seeds, int) and mask is None:
        return seed_words(seeds)
    if isinstance(seeds, int):
        return [(lane, seed_words(seeds + lane)) for lane in np.flatnonzero(mask).tolist()]
    if seeds is None:
        return []
    return [(lane, seed_words(seed)) for lane, seed in enumerate(seeds)
            if seed is not None and (mask is None or mask[lane])]
