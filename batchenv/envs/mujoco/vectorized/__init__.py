"""Tasks over a MuJoCo model in NumPy: classes whose functions compute with all lanes at once.

`task` has the base class, `view` what its functions get. `trial` runs a task once, to find out what it reads and gives;
`backend` steps it; `origin` makes it.
"""
