"""MuJoCo: the installed library, models, and the tasks over them."""
