# The tables of env types, as Python objects.

cdef enum:
    DEFAULT_FPS = 30  # of pictures whose type says no rate; as Gymnasium's RecordVideo takes it

AUTORESET_MODES = {"NEXT_STEP": BE_NEXT_STEP, "SAME_STEP": BE_SAME_STEP, "DISABLED": BE_DISABLED}
MAX_DIMS, MAX_BOUNDS = BE_MAX_DIMS, BE_MAX_BOUNDS

_dtypes = (np.dtype(np.bool_), np.dtype(np.uint8), np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.float32),
           np.dtype(np.float64), np.dtype(np.int8))


cdef const be_env_type *_find_type(const be_isa *isa, str name) except NULL:
    cdef const be_env_type *env_type = be_type_named(isa, name.encode())
    cdef Library library = _loaded_types.get(name)
    cdef MadeType made = _made_types.get(name)
    if library is not None:
        return library.find(isa, name)
    if made is not None:
        return &made.type
    if env_type == NULL:
        raise ValueError(f"no env type {name!r} in the C core")
    return env_type


def env_types():
    """Describes the built-in env types: a list of dicts with the keys "name", "family", "render_fps", "grid" (the
    keyword that gives a map, or None) and "ids", a list of dicts with the keys "name", "max_episode_steps" and
    "reward_threshold" (each None if there is none), "kwargs" and "listed".
    """
    cdef const be_env_type *env_type
    cdef int64_t index = 0
    types = []
    while True:
        env_type = be_type_at(be_isa_supported()[0], index)
        if env_type == NULL:
            return types
        index += 1
        types.append(_describe(env_type))


cdef dict _describe(const be_env_type *env_type):
    drawn = DEFAULT_FPS if env_type.picture != NULL else 0
    return {"name": env_type.name.decode(), "render_fps": env_type.frames_per_second or drawn,
            "family": _text_or_none(env_type.family), "grid": _text_or_none(env_type.grid),
            "ids": _id_table(env_type)}


cdef list _id_table(const be_env_type *env_type):
    cdef const be_id *row = env_type.ids
    rows = []
    while row != NULL and row.name != NULL:
        rows.append({
            "name": row.name.decode(), "max_episode_steps": row.max_episode_steps or None,
            "reward_threshold": None if row.reward_threshold == NULL else row.reward_threshold[0],
            "kwargs": _settings(row, env_type.params), "listed": not row.unlisted,
        })
        row += 1
    return rows


cdef dict _settings(const be_id *row, const be_param *params):
    """The keywords that an id sets, {name: value}: params of the type as values of their kind, others as text."""
    cdef const be_setting *setting = &row.settings[0]
    cdef const be_param *param
    values = {}
    while setting < row.settings + BE_MAX_SETTINGS and setting.name != NULL:
        param = params
        while param != NULL and param.name != NULL and strcmp(param.name, setting.name) != 0:
            param += 1
        if setting.text != NULL or param == NULL or param.name == NULL:
            values[setting.name.decode()] = setting.text.decode()
        else:
            values[setting.name.decode()] = _param_value(param, setting.value)
        setting += 1
    return values


cdef list _param_table(const be_param *table):
    kinds = {BE_PARAM_FLOAT: "float", BE_PARAM_INT: "int", BE_PARAM_BOOL: "bool", BE_PARAM_CHOICE: "choice",
             BE_PARAM_TEXT: "text"}
    rows = []
    while table != NULL and table.name != NULL:
        choices = []
        if table.kind == BE_PARAM_CHOICE:
            while table.choices[len(choices)] != NULL:
                choices.append(table.choices[len(choices)].decode())
        rows.append({
            "name": table.name.decode(), "kind": kinds[table.kind],
            "default": _param_value(table, table.value), "low": table.low, "high": table.high,
            "choices": choices, "doc": table.doc.decode(),
            "per_lane": bool(be_may_differ(table)),
        })
        table += 1
    return rows


cdef object _param_value(const be_param *param, double value):
    if param.kind == BE_PARAM_BOOL:
        return value != 0
    if param.kind == BE_PARAM_CHOICE:
        return param.choices[<int>value].decode()
    if param.kind == BE_PARAM_INT:
        return int(value)
    if param.kind == BE_PARAM_TEXT:  # the default
        return "" if param.text == NULL else param.text.decode("utf-8", "surrogateescape")
    return value


cdef cnp.ndarray _param_values(const be_param *param, cnp.ndarray column):
    """A value per lane as users see them: an array of float64, int64, bool or texts. column: float64."""
    if param.kind == BE_PARAM_BOOL:
        return column != 0
    if param.kind == BE_PARAM_CHOICE:
        return np.array([_param_value(param, value) for value in column])
    return column.astype(np.int64 if param.kind == BE_PARAM_INT else np.float64)


cdef list _field_table(const be_field *field):
    rows = []
    while field != NULL and field.name != NULL:
        rows.append({"name": field.name.decode(), "dtype": str(_dtypes[<int>field.dtype]), "size": field.size,
                     "doc": field.doc.decode(), "low": field.low, "high": field.high})
        field += 1
    return rows


cdef object _text_or_none(const char *text):
    return None if text == NULL else text.decode()


cdef object _read_table(const be_read *read):
    if read == NULL:
        return None
    rows = []
    while read.array != NULL:
        rows.append((read.array.decode(), _text_or_none(read.object), _text_or_none(read.name)))
        read += 1
    return rows


cdef list _drawn_table(const be_drawn *drawn):
    """Its rows as arguments of `batchenv.envs.mujoco.drawn.Changes.add`."""
    rows = []
    while drawn != NULL and drawn.field != NULL:
        columns = [k for k in range(32) if drawn.columns >> k & 1]
        rows.append({"field": drawn.field.decode(), "how": ("scale", "add", "set")[<int>drawn.change],
                     "values": (drawn.low, drawn.high), "names": _text_or_none(drawn.name), "columns": columns or None,
                     "distribution": ("uniform", "log_uniform", "normal")[<int>drawn.distribution],
                     "together": bool(drawn.together), "with_inertia": bool(drawn.with_inertia)})
        drawn += 1
    return rows


_TOLD = (BE_INFO, BE_REWARD)  # the roles of ports that are found in infos


cdef list _port_table(const be_env_type *env_type, tuple roles):
    """The ports of these roles as the type's table gives them; "index" is their place in it. A name that is a path,
    such as "arm/speed", has "groups", ["arm"], and a "key", "speed"; "mask" is the key of its mask."""
    cdef const be_port *port
    cdef int index = 0
    rows = []
    while env_type.ports[index].name != NULL:
        port = &env_type.ports[index]
        if port.role in roles:
            name = port.name.decode()
            *groups, key = name.split("/")
            shape = tuple([port.shape[i] for i in range(BE_MAX_DIMS) if port.shape[i] > 0])
            rows.append({"name": name, "groups": groups, "key": key, "mask": f"_{key}", "shape": shape,
                         "dtype": str(_dtypes[<int>port.dtype]), "size": math.prod(shape), "index": index,
                         "doc": port.doc.decode() if port.doc != NULL else ""})
        index += 1
    return rows


def type_info(str name):
    """The tables of an env type: "state", "info" (and further rewards), "params", "options" (each a list of dicts),
    "reads" (tuples of array, object and name, each a str or None; or None: it reads no simulator's model), "family",
    "grid" (the keyword that gives its map, or None), "draws": whether it draws its lanes itself, "drawn" (see
    `_drawn_table`; [] if nothing is) and "model_pool"."""
    cdef const be_env_type *env_type = _find_type(_find_isa(None), name)
    return {"state": _field_table(env_type.state), "info": _port_table(env_type, _TOLD),
            "params": _param_table(env_type.params), "options": _param_table(env_type.options),
            "reads": _read_table(env_type.reads),
            "family": _text_or_none(env_type.family), "grid": _text_or_none(env_type.grid),
            "draws": env_type.picture != NULL, "drawn": _drawn_table(env_type.drawn),
            "model_pool": env_type.model_pool}


cdef bytes _param_text(str name, object value):
    """`value`, a str or a path, as the bytes of a TEXT. Raises TypeError or ValueError if it is none."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{name}={brief(value)} must be a str or a path, not {type(value).__name__}")
    try:
        text = os.fspath(value).encode("utf-8", "surrogateescape")  # as paths of unknown encoding are read
    except UnicodeEncodeError as problem:
        raise ValueError(f"{name} cannot be written as UTF-8: {problem.reason} at {problem.start}") from None
    if b"\0" in text:
        raise ValueError(f"{name} has the character \\0 at {text.index(0)}, which ends a text in C: leave it out")
    if len(text) > BE_MAX_TEXT:
        raise ValueError(f"{name} has {len(text)} bytes, but a text may have {BE_MAX_TEXT}: put it into a file, if the "
                         "environment can read one")
    return text


cdef double _param_number(dict row, object value, str what) except? -1:
    """`value` as the double by which C knows it. Raises TypeError or ValueError if it is not a value of the param."""
    name = row["name"]
    if row["kind"] == "choice":
        if not isinstance(value, str) or value not in row["choices"]:
            raise ValueError(f"{what}{name}={value!r} must be one of {row['choices']}")
        return row["choices"].index(value)
    if row["kind"] == "bool":
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{what}{name}={value!r} must be a bool, not {type(value).__name__}")
        return 1.0 if value else 0.0
    if row["kind"] == "int":
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{what}{name}={value!r} must be an int, not {type(value).__name__}")
        if abs(value) > 2**53:
            raise ValueError(f"{what}{name}={brief(value)} must be between {row['low']:g} and {row['high']:g}")
    return number(f"{what}{name}", value)


cdef object _tree_of(const be_env_type *env_type, list names):
    """See `batchenv.spaces.nested.tree_of`; messages name the type."""
    try:
        return nested.tree_of(names)
    except ValueError as error:
        raise ValueError(f"type {env_type.name.decode()}: {error}") from None


cdef dict _spaces(const be_batch *batch, be_role role):
    """{name: description of its space} of the ports of one role that are not left out."""
    spaces = {}
    for row in _port_table(batch.type, (role,)):
        if be_space_row_size(&batch.space[<int>row["index"]]) == 0:
            continue
        if row["name"] in spaces:
            raise ValueError(f"type {batch.type.name.decode()}: two ports of one role are named {row['name']!r}: give "
                             "one of them another name, or leave it out in prepare()")
        spaces[row["name"]] = _space(batch, row["index"])
    _tree_of(batch.type, list(spaces))
    return spaces


cdef object _space(const be_batch *batch, int index):
    cdef const be_space *space = &batch.space[index]
    size = be_space_row_size(space)
    shape = tuple(space.shape[i] for i in range(space.ndim))
    kinds = {BE_SPACE_BOX: "box", BE_SPACE_DISCRETE: "discrete", BE_SPACE_MULTI_DISCRETE: "multi_discrete",
             BE_SPACE_MULTI_BINARY: "multi_binary", BE_SPACE_TUPLE: "tuple", BE_SPACE_TEXT: "text"}
    if space.kind == BE_SPACE_TEXT:
        texts = _text_source(batch.type, &batch.type.ports[index], space).listed()
        return kinds[space.kind], _dtypes[<int>space.dtype], (), texts, None
    low = [space.low[i if size <= BE_MAX_BOUNDS else 0] for i in range(size)]
    high = [space.high[i if size <= BE_MAX_BOUNDS else 0] for i in range(size)]
    if space.dtype == BE_I64 and max(high, default=0) >= 2.0**63:  # the highest int64 is no double
        high = [min(int(value), 2**63 - 1) for value in high]
    return kinds[space.kind], _dtypes[<int>space.dtype], shape, low, high
