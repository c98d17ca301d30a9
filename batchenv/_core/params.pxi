# The parameters of an env type, one value for all lanes or one per lane.

import numpy as np

cimport cython
cimport numpy as cnp


@cython.final
cdef class Params:
    """A batch's parameters, and the options of its resets."""

    cdef be_batch *batch
    cdef list rows, option_rows  # rows of the type's tables
    cdef list columns  # a float64 array (num_lanes,) where lanes differ, else None

    cdef int start(self, be_batch *batch) except -1:
        self.batch = batch
        self.rows = _param_table(batch.type.params)
        self.option_rows = _param_table(batch.type.options)
        self.columns = [None] * len(self.rows)
        return 0

    cdef dict get(self):
        """{name: the value, or a float64 array (num_lanes,) where lanes differ}."""
        params = {}
        for i, row in enumerate(self.rows):
            column = self.columns[i]
            params[row["name"]] = (_param_value(&self.batch.type.params[i], self.batch.params[i]) if column is None
                                   else column.copy())
        return params

    cdef int set(self, dict values, lanes) except -1:
        """Sets params. values: {name: one value, or an array (num_lanes,)}. lanes: a bool mask; None: all lanes."""
        cdef double numbers[BE_MAX_PARAMS]
        cdef const double *pointers[BE_MAX_PARAMS]
        cdef be_error error
        cdef cnp.ndarray array
        names = [row["name"] for row in self.rows]
        columns = list(self.columns)
        cdef int i
        for i in range(BE_MAX_PARAMS):
            numbers[i] = self.batch.params[i]
            pointers[i] = NULL
        for name, value in values.items():
            if name not in names:
                raise TypeError(f"{self.batch.type.name.decode()} has no parameter {name!r}; it has: "
                                f"{', '.join(names)}")
            i = names.index(name)
            row = self.rows[i]
            try:
                many = not isinstance(value, (str, bytes)) and np.ndim(value) > 0
            except ValueError:  # ragged
                many = True
            if many:
                new = self._column(row, value)
            else:
                new = _param_number(row, value, "")
            if lanes is not None:
                if not row["per_lane"]:
                    raise ValueError(f"{name} is one value for all lanes: set it without lanes")
                old = numbers[i] if columns[i] is None else columns[i]
                new = np.where(lanes, new, old)
            if isinstance(new, np.ndarray) and (new == new[0]).all():
                new = float(new[0])  # all lanes have the same value, for which the kernels are faster
            if isinstance(new, np.ndarray):
                columns[i] = new
                numbers[i] = new[0]
            else:
                columns[i] = None
                numbers[i] = new
        cdef bint any_column = False
        for i in range(len(columns)):
            if columns[i] is not None:
                array = columns[i]
                pointers[i] = <const double *>cnp.PyArray_DATA(array)
                any_column = True
        if be_batch_configure(self.batch, numbers, pointers if any_column else NULL, &error) != BE_OK:
            _raise(&error)
        self.columns = columns
        return 0

    cdef cnp.ndarray _column(self, dict row, value):
        """`value` as a float64 array (num_lanes,) of our own."""
        name = row["name"]
        try:
            array = np.array(value)
        except ValueError:
            raise ValueError(f"{name} cannot be read as an array of shape ({self.batch.num_lanes},)") from None
        if not row["per_lane"]:
            raise ValueError(f"{name} is one value for all lanes, got an array of shape {array.shape}")
        if array.shape != (self.batch.num_lanes,):
            raise ValueError(f"{name} has shape {array.shape}, but must be one number, or have one value per "
                             f"lane: shape ({self.batch.num_lanes},)")
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{name} has dtype {array.dtype}, but must hold numbers")
        return array.astype(np.float64)

    cdef int fill_options(self, dict options, double *values) except -1:
        """Checks the options of a reset and writes their values in the order of the table."""
        cdef be_error error
        cdef int i
        for i, row in enumerate(self.option_rows):
            values[i] = _param_number(row, options.get(row["name"], row["default"]), "reset option ")
        if be_batch_check_options(self.batch, values, &error) != BE_OK:
            _raise(&error)
        return 0
