import weakref

import pytest

from batchenv.workers.origin import PythonOrigin


@pytest.fixture(autouse=True)
def closed(monkeypatch):
    """Closes what a test leaves open: others count processes, threads and descriptors."""
    made = []
    backend = PythonOrigin.backend

    def remembered(*arguments, **options):
        one = backend(*arguments, **options)
        made.append(weakref.ref(one))
        return one

    monkeypatch.setattr(PythonOrigin, "backend", remembered)
    yield
    for reference in made:
        one = reference()
        if one is not None:
            one.close()
