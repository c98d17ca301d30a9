"""Every memory order of the queue that is weaker than sequential consistency has its reason in README.md."""

import re
from collections import Counter

from helpers.project import ROOT

# (variable, order): how often. An order weakened in the C shows here, and on no x86 machine: first give the reason.
WEAKER = {
    ("tail", "relaxed"): 4,
    ("head", "relaxed"): 4,
    ("claimed", "acq_rel"): 1,
    ("body", "relaxed"): 2,
    ("context", "relaxed"): 2,
    ("n", "relaxed"): 2,
    ("grain", "relaxed"): 2,
    ("ranges", "relaxed"): 3,
    ("done", "relaxed"): 1,
}


def weaker_orders(text):
    """(variable, order) of each access that names its order."""
    calls = re.findall(r"atomic_\w+_explicit\(\s*&[\w.>\[\]-]*?(\w+),[^;]*?memory_order_(\w+)", text)
    assert len(calls) == len(re.findall(r"_explicit\(", text)), "an access that is not understood"
    return Counter(calls)


def test_every_weaker_order_is_known():
    found = Counter()
    for path in (ROOT / "csrc" / "core" / "queue").glob("*.[ch]"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        found += weaker_orders(text)
        others = re.search(r"__atomic_|\bvolatile\b|atomic_thread_fence", text)
        assert not others, f"{path.name} has atomics of other kinds"
    assert found == WEAKER


def test_a_weakened_order_is_seen():
    assert weaker_orders("word = atomic_load(&job->word);") == {}
    weakened = "word = atomic_load_explicit(&job->word, memory_order_relaxed);"
    assert weaker_orders(weakened) == {("word", "relaxed"): 1}


def test_the_readme_gives_the_reasons():
    text = (ROOT / "tests" / "model" / "README.md").read_text(encoding="utf-8")
    reasons = text[text.index("What is weaker:") :]
    assert not [name for name, _ in WEAKER if f"`{name}`" not in reasons]
