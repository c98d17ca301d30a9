"""The process that forks workers: see `starter.ForkServer`, which asks it."""

from __future__ import annotations

import gc
import os
import pickle
import select
import socket
from typing import Any

from batchenv.workers.processes import entry
from batchenv.workers.processes.starter import fork, reaped, received
from batchenv.workers.processes.worker import name_process


def main(control: int, parent: int) -> None:
    """Answers questions until the parent has closed its end, or has ended."""
    entry.keep_stdio_open()
    entry.ignore_ctrl_c()
    name_process("batchenv server")
    os.set_inheritable(control, False)
    watched = entry.watched(parent)
    gc.collect()
    gc.freeze()  # pages that nobody writes are shared with all workers
    questions = socket.socket(fileno=control)
    poll = select.poll()
    poll.register(questions, select.POLLIN)
    if watched >= 0:
        poll.register(watched, select.POLLIN)
    while True:
        if watched in dict(poll.poll()):
            break
        message, descriptors = received(questions, 3)
        if not message:
            break
        ticket, verb, number = pickle.loads(message)
        answer, process = start(number, descriptors, questions, watched) if verb == "start" else (reaped(number), None)
        try:
            socket.send_fds(questions, [pickle.dumps((ticket, answer))], [] if process is None else [process])
        except OSError:  # the parent has gone
            break
        finally:
            for descriptor in [*descriptors, *([] if process is None else [process])]:
                os.close(descriptor)
    questions.close()
    while True:  # workers end together with the parent; who is nobody's child would stay a zombie in some containers
        try:
            os.wait()
        except ChildProcessError:
            os._exit(0)


def start(number: int, descriptors: list[int], questions: socket.socket, watched: int) -> tuple[Any, int | None]:
    """Forks a worker. Returns its pid and a pidfd; or an error, and None."""

    channel, memory, event = descriptors

    def run() -> None:
        questions.close()
        entry.forked(number, channel, memory, event, watched)

    try:
        pid = fork(run)
    except OSError as problem:
        return problem, None
    try:
        return pid, os.pidfd_open(pid)
    except OSError as problem:  # the worker notices that nobody has the other end of its channel
        return problem, None
