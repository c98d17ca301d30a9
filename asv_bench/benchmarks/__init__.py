"""Benchmarks of batchenv for Airspeed Velocity, to be run in this file's parent folder.

With the batchenv that is installed in the Python in use (or one built in place: `export ASV_PYTHONPATH="$PWD/.."`
first, since asv hides PYTHONPATH from benchmarks):

    asv machine --yes
    asv check -E existing                         # or --python=same
    asv run -E existing --quick --show-stderr     # once each; leave out --quick to measure
    asv run -E existing --set-commit-hash HEAD    # keeps the results

Of commits, in virtual environments that asv builds: `asv run HEAD~3..HEAD`, `asv continuous main HEAD`.
"""
