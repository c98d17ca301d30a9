# cython: language_level=3, cdivision=True
# cython: freethreading_compatible=True
"""The door between Python and the C core: one class, Batch, that owns a be_batch and the arrays handed out."""

import atexit
import copy
import enum
import itertools
import math
import operator
import os
import reprlib
import time
import warnings
import weakref

import numpy as np
from gymnasium import logger
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from batchenv.arguments.numbers import brief, number
from batchenv.spaces import nested
from batchenv.text import Texts

cimport cython
cimport numpy as cnp
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.dict cimport PyDict_CheckExact, PyDict_GetItem, PyDict_Next, PyDict_SetItem
from cpython.exc cimport PyErr_CheckSignals
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_RawFree, PyMem_RawMalloc
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from cython.parallel cimport prange
from libc.math cimport floor, rint
from libc.stdint cimport uint16_t
from libc.stdlib cimport calloc, free
from libc.string cimport memchr, memcmp, memcpy, memset, strcmp

from batchenv._core.c cimport *

cnp.import_array()
be_fork_watch()
be_team_init()

# What this build is, and what types there are.
include "_core/errors.pxi"  # exceptions
include "_core/build.pxi"  # instruction sets, and which mathematical functions the kernels call
include "_core/threads.pxi"  # how many threads, on which CPUs
include "_core/tables.pxi"  # the tables of env types, as dicts
include "_core/libraries.pxi"  # types from C files of the user's

# What goes into a batch.
include "_core/transforms.pxi"  # built-in transforms, and moments
include "_core/params.pxi"  # parameters, and options of resets
include "_core/tensors.pxi"  # tensors of other libraries, looked at and made
include "_core/actions.pxi"  # actions, checked and converted
include "_core/seeds.pxi"  # seeds, as words

# What comes out of it.
include "_core/texts.pxi"  # texts of codes
include "_core/layout.pxi"  # which arrays an output has
include "_core/output.pxi"  # the arrays of one call
include "_core/outputs.pxi"  # those that are used again
include "_core/infos.pxi"  # infos, and final observations
include "_core/dicts.pxi"  # lists of dicts for Stable-Baselines3
include "_core/pictures.pxi"  # pictures that C types draw

# Calls.
include "_core/run.pxi"  # runs a call, on one thread or several
include "_core/queue.pxi"  # lanes in flight, and their workers
include "_core/calls.pxi"  # one call at a time
include "_core/failures.pxi"  # what failed lanes raise

# Simulators and environments that types are opened with.
include "_core/engines.pxi"  # their base class
include "_core/made_types.pxi"  # types that are made for them
include "_core/python_lanes.pxi"  # environments written in Python
include "_core/numbers.pxi"  # numbers in their infos
include "_core/mujoco.pxi"
include "_core/mujoco_draws.pxi"  # models that differ from episode to episode
include "_core/mujoco_tasks.pxi"  # tasks in NumPy
include "_core/atari.pxi"
include "_core/procgen.pxi"

# Batches: each class is based on the one before.
include "_core/lanes.pxi"  # Lanes: what they are and have
include "_core/steps.pxi"  # SteppedLanes: resets, steps, rollouts
include "_core/snapshots.pxi"  # SavedLanes: states and snapshots, read, loaded and set
include "_core/agendas.pxi"  # PlannedLanes: plans of their episodes
include "_core/batch.pxi"  # Batch: lanes in flight
include "_core/joined.pxi"  # Joined: lanes of several batches, stepped together
include "_core/views.pxi"  # views of their columns
include "_core/exit.pxi"  # ends their workers at exit

# Batches whose lanes are stepped elsewhere.
include "_core/mailbox.pxi"  # messages between processes
include "_core/flight.pxi"  # which lanes are away, their actions, and what comes back
include "_core/remote.pxi"  # steps in worker processes
include "_core/xla.pxi"  # calls from XLA's programs
include "_core/life.pxi"  # a process that ends with another one
