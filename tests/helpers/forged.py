"""Snapshots that were changed and got a new, valid checksum, so that only the checks after the checksum can refuse
them."""

import struct

import numpy as np

import batchenv

# csrc/core/snapshot.h
HEADER = struct.Struct("<8sIIQqQQqq")
HEADER_FIELDS = ("magic", "version", "autoreset", "bytes", "count", "layout", "grid", "param_rows", "num_params")
# What the driver keeps for each lane; it follows the type's own state.
DRIVER = (
    ("rng", np.dtype([("state", "<u8", 2), ("inc", "<u8", 2), ("buffered", "<u4"), ("has_buffered", "<u4")]), 1),
    ("elapsed", np.dtype("<i4"), 1),
    ("pending", np.dtype("u1"), 1),
)


def _hash(data):
    """FNV-1a as in csrc/core/snapshot.c: over words of eight bytes, then over the rest."""
    prime, mask, value = 0x100000001B3, 2**64 - 1, 0xCBF29CE484222325
    whole = len(data) // 8 * 8
    for word in struct.unpack(f"<{whole // 8}Q", data[:whole]):
        value = (value ^ word) * prime & mask
        value ^= value >> 29
    for byte in data[whole:]:
        value = (value ^ byte) * prime & mask
    return value ^ value >> 32


def seal(data):
    """The bytes of a snapshot with the checksum that they should have."""
    data = bytes(data)
    return data[:-8] + struct.pack("<Q", _hash(data[:-8]))


def forge(env, header=None, **changes):
    """A snapshot of env's lanes, sealed, in which the first lane's `changes` have other values: those of its state and
    params by their names, and of its "rng", whose parts are a dict, "elapsed" and "pending" (see DRIVER). `header`
    changes numbers of the header by name, without moving what follows it."""
    data = bytearray(bytes(env.snapshot()))
    fields = dict(zip(HEADER_FIELDS, HEADER.unpack_from(data), strict=True))
    tables = batchenv._core.type_info(batchenv.catalog.lookup(env.spec.id)[1].type_name)
    start = HEADER.size
    for k, param in enumerate(tables["params"]):
        if param["name"] in changes:
            struct.pack_into("<d", data, start + 8 * k, changes.pop(param["name"]))
    start += fields["param_rows"] * fields["num_params"] * 8
    columns = env.state
    # A flag's byte may be forged too: NumPy would write 0 or 1.
    columns = env._backend.state()
    state = [
        (f["name"], np.dtype("u1" if f["dtype"] == "bool" else f["dtype"]), np.size(columns[f["name"]][0]))
        for f in tables["state"]
    ]
    for name, dtype, size in [*state, *DRIVER]:
        row = np.frombuffer(data, dtype, size, start)  # lane 0's
        if name in changes:
            value = changes.pop(name)
            if isinstance(value, dict):
                for part, number in value.items():
                    row[part] = number
            else:
                row[:] = value
        start += -(-fields["count"] * size * dtype.itemsize // 8) * 8
    assert not changes, f"no such fields: {list(changes)}"
    fields.update(header or {})
    HEADER.pack_into(data, 0, *fields.values())
    return seal(data)
