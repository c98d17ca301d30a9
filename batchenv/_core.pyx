# cython: language_level=3, cdivision=True
# cython: freethreading_compatible=True
"""The door between Python and the C core: one class, Batch, that owns a be_batch and the arrays handed out."""

from batchenv._core.c cimport *

cimport numpy as cnp

cnp.import_array()
be_fork_watch()
be_team_init()

include "_core/errors.pxi"
include "_core/build.pxi"
include "_core/threads.pxi"
include "_core/tables.pxi"
include "_core/libraries.pxi"
include "_core/transforms.pxi"
include "_core/params.pxi"
include "_core/tensors.pxi"
include "_core/actions.pxi"
include "_core/texts.pxi"
include "_core/layout.pxi"
include "_core/output.pxi"
include "_core/outputs.pxi"
include "_core/infos.pxi"
include "_core/dicts.pxi"
include "_core/run.pxi"
include "_core/queue.pxi"
include "_core/calls.pxi"
include "_core/columns.pxi"
include "_core/pictures.pxi"
include "_core/seeds.pxi"
include "_core/snapshots.pxi"
include "_core/failures.pxi"
include "_core/engines.pxi"
include "_core/python_lanes.pxi"
include "_core/numbers.pxi"
include "_core/mujoco.pxi"
include "_core/atari.pxi"
include "_core/batch.pxi"
include "_core/exit.pxi"
include "_core/mail.pxi"
include "_core/flight.pxi"
include "_core/remote.pxi"
include "_core/xla.pxi"
include "_core/life.pxi"
