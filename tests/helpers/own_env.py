"""C files of users' own envs."""


def edit(path, old, new):
    """Replaces a text of a file, which must have it."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
