"""What all tests of workers do."""

import pytest

from batchenv.workers.origin import PythonOrigin


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """Closes what a test has made: others count processes, threads and descriptors. Tests that leave envs to the
    garbage collector clear this list of backends."""
    made = []
    backend = PythonOrigin.backend

    def remembered(*arguments, **options):
        made.append(backend(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(PythonOrigin, "backend", remembered)
    yield made
    for one in made:
        one.close()
