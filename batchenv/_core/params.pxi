# The parameters of an env type, one value for all lanes or one per lane.

# The kinds of dtypes that values per lane may have.
_COLUMNS = {"float": ("iuf", "numbers"), "int": ("iu", "whole numbers (ints)"), "bool": ("b", "bools"),
            "choice": ("U", "texts")}


@cython.final
cdef class Params:
    """A batch's parameters, and the options of its resets."""

    cdef be_batch *batch  # NULL: it is still to be made
    cdef const be_env_type *type
    cdef int64_t num_lanes
    cdef list rows, option_rows  # of the type's tables
    cdef list columns  # a float64 array (num_lanes,) where lanes differ, else None; for numbers, see be_param
    cdef double numbers[BE_MAX_PARAMS]  # the value; where lanes differ, the first lane's
    cdef list texts  # of TEXT params, as bytes; None for others. They never change
    cdef const char *text_pointers[BE_MAX_PARAMS]
    cdef const double *column_pointers[BE_MAX_PARAMS]
    cdef object planned  # numbers, intc, of those that change from episode to episode; None: none do
    cdef const double **pointers  # to the columns, as C takes them; NULL: there are none

    cdef int start(self, const be_env_type *env_type, int64_t num_lanes, dict values) except -1:
        """The defaults, but for `values`, which `set` describes."""
        cdef int i
        self.type = env_type
        self.num_lanes = num_lanes
        self.rows = _param_table(env_type.params)
        self.option_rows = _param_table(env_type.options)
        self.columns = [None] * len(self.rows)
        for i in range(len(self.rows)):
            self.numbers[i] = env_type.params[i].value
        self.texts = [None if row["kind"] != "text" else
                      _param_text(row["name"], values.get(row["name"], row["default"])) for row in self.rows]
        for i in range(len(self.rows)):
            self.text_pointers[i] = NULL
            if self.texts[i] is not None:
                self.text_pointers[i] = <const char *><bytes>self.texts[i]
        self._take(self._changed(values, None))
        return 0

    cdef dict get(self):
        """{name: the value, or an array (num_lanes,) where lanes differ, of float64, int64, bool or texts}."""
        params = {}
        self._read_planned()
        for i, row in enumerate(self.rows):
            column = self.columns[i]
            if self.texts[i] is not None:
                params[row["name"]] = (<bytes>self.texts[i]).decode("utf-8", "surrogateescape")
                continue
            params[row["name"]] = (_param_value(&self.type.params[i], self.numbers[i]) if column is None
                                   else _param_values(&self.type.params[i], column))
        return params

    cdef int set(self, dict values, lanes) except -1:
        """values: {name: one value, or an array (num_lanes,)}. lanes: a bool mask; None: all lanes."""
        cdef be_error error
        cdef Params changed
        self._read_planned()
        changed = self._changed(values, lanes)
        _check(be_batch_configure(self.batch, changed.numbers, changed.pointers, &error), &error)
        self._take(changed)
        return 0

    cdef int plan(self, object numbers) except -1:
        """Lets these params (None: none) have a value per lane that changes from episode to episode, after the batch
        has got the agenda that changes them. If that raises, nothing has changed."""
        cdef be_error error
        cdef int status
        self._read_planned()
        self._point()
        status = be_batch_configure(self.batch, self.numbers, self.pointers, &error)
        _check(status, &error)
        self.planned = numbers
        return 0

    cdef int _read_planned(self) except -1:
        """Takes over what episodes have changed."""
        cdef int64_t lane
        cdef double[::1] column
        cdef int i
        if self.planned is None:
            return 0
        for i in self.planned:
            column = np.empty(self.num_lanes)
            for lane in range(self.num_lanes):
                column[lane] = be_param_of(self.batch, i, lane)
            own = np.asarray(column)
            self.numbers[i] = own[0]
            self.columns[i] = None if (own == own[0]).all() else own
        return 0

    cdef int _take(self, Params other) except -1:
        """The values of another one."""
        cdef int i
        self.columns = other.columns
        for i in range(len(self.rows)):
            self.numbers[i] = other.numbers[i]
        self._point()
        return 0

    cdef int _point(self) except -1:
        cdef int i
        self.pointers = NULL
        for i in range(len(self.columns)):
            self.column_pointers[i] = NULL
            if self.columns[i] is not None:
                self.column_pointers[i] = <const double *>cnp.PyArray_DATA(<cnp.ndarray>self.columns[i])
                self.pointers = self.column_pointers
        return 0

    cdef Params _changed(self, dict values, lanes):
        """These with other values, checked one by one."""
        cdef Params other = Params()
        cdef int i
        other.columns = list(self.columns)
        names = [row["name"] for row in self.rows]
        for i in range(len(names)):
            other.numbers[i] = self.numbers[i]
        for name, value in values.items():
            if name not in names:
                raise TypeError(f"{self.type.name.decode()} has no parameter {name!r}; it has: "
                                f"{', '.join(names) or 'none'}")
            i = names.index(name)
            row = self.rows[i]
            if self.texts[i] is not None:
                if _param_text(name, value) != self.texts[i]:
                    raise ValueError(f"{name} cannot be changed once the env is made: make a new one with it")
                continue
            try:
                many = not isinstance(value, (str, bytes)) and np.ndim(value) > 0
            except ValueError:  # ragged
                many = True
            if many:
                new = self._column(row, value, lanes)
            else:
                new = _param_number(row, value, "")
            if lanes is not None:
                if not row["per_lane"]:
                    raise ValueError(f"{name} is one value for all lanes: set it without lanes")
                old = other.numbers[i] if other.columns[i] is None else other.columns[i]
                new = np.where(lanes, new, old)
            if isinstance(new, np.ndarray) and (new == new[0]).all():
                new = float(new[0])  # the same in all lanes after all: the faster path
            other.columns[i] = new if isinstance(new, np.ndarray) else None
            other.numbers[i] = new[0] if isinstance(new, np.ndarray) else new
        other._point()
        return other

    cdef cnp.ndarray _column(self, dict row, value, lanes):
        """`value` as a float64 array (num_lanes,) of our own. lanes: a bool mask of those that count; None: all."""
        name, kind = row["name"], row["kind"]
        try:
            array = np.array(value)
        except ValueError:
            raise ValueError(f"{name} cannot be read as an array of shape ({self.num_lanes},)") from None
        if not row["per_lane"]:
            raise ValueError(f"{name} is one value for all lanes, got an array of shape {array.shape}")
        if array.shape != (self.num_lanes,):
            raise ValueError(f"{name} has shape {array.shape}, but must be one value, or have one value per "
                             f"lane: shape ({self.num_lanes},)")
        kinds, what = _COLUMNS[kind]
        if array.dtype.kind not in kinds:
            raise TypeError(f"{name} has dtype {array.dtype}, but must hold {what}")
        numbers = np.zeros(self.num_lanes) if kind == "choice" else array.astype(np.float64)
        if kind in ("float", "bool"):
            return numbers
        each = np.ones(self.num_lanes, np.bool_) if lanes is None else lanes
        for lane in np.flatnonzero(each if kind == "choice" else each & (np.abs(numbers) > 2**53)):
            try:
                numbers[lane] = _param_number(row, array[lane].item(), "")
            except ValueError as problem:
                raise ValueError(f"{problem} (lane {lane})") from None
        return numbers

    def options_of_lanes(self, dict options, mask):
        """Options of a reset as float64 numbers (num_lanes, options), in the order of the table, where some are arrays
        with one value per lane; None if there are none. Lanes outside of the mask (None: all are reset) have zeros."""
        cdef double[:, ::1] rows
        if not any(isinstance(value, np.ndarray) and value.ndim for value in options.values()):
            return None
        numbers = np.zeros((self.num_lanes, len(self.option_rows)))
        rows = numbers
        for name, value in options.items():
            if isinstance(value, np.ndarray) and value.ndim and value.shape != (self.num_lanes,):
                raise ValueError(f"reset option {name} has shape {value.shape}, but must be one value, or have one "
                                 f"per lane: shape ({self.num_lanes},)")
        for lane in range(self.num_lanes) if mask is None else np.flatnonzero(mask).tolist():
            own = {name: value[lane].item() if isinstance(value, np.ndarray) and value.ndim else value
                   for name, value in options.items()}
            try:
                self.fill_options(own, &rows[lane, 0])
            except ValueError as problem:
                raise ValueError(f"{problem} (lane {lane})") from None
        return numbers

    cdef int fill_options(self, dict options, double *values) except -1:
        """Checks the options of a reset and writes their values in the order of the table."""
        cdef be_error error
        cdef int i
        for i, row in enumerate(self.option_rows):
            values[i] = _param_number(row, options.get(row["name"], row["default"]), "reset option ")
        _check(be_batch_check_options(self.batch, values, &error), &error)
        return 0
