# Env types that are made when the program runs: tables for environments and tasks written in Python.

_made_types = weakref.WeakValueDictionary()  # {name of a type: its MadeType}


cdef class MadeType:
    """An env type. Batches of it are made by its name, as long as this object lives.

    Attributes:
        name: ends with a number that no other type has. In snapshots it goes without.
    """

    cdef be_env_type type
    cdef be_port ports[BE_MAX_PORTS + 1]
    cdef be_field fields[BE_MAX_FIELDS + 1]
    cdef be_param params[BE_MAX_PARAMS + 1]
    cdef double lows[BE_MAX_PORTS][BE_MAX_BOUNDS]
    cdef double highs[BE_MAX_PORTS][BE_MAX_BOUNDS]
    cdef list texts  # keeps names alive
    cdef readonly str name
    cdef object __weakref__

    cdef int _begin(self, str name) except -1:
        self.name, self.texts = name, []
        self.type.abi = BE_ABI
        self.type.name = self._text(name.rpartition(" ")[0])
        self.type.ports, self.type.state = self.ports, self.fields
        self.type.flags = BE_LANE_BY_LANE
        _made_types[name] = self
        return 0

    cdef const char *_text(self, str text) except NULL:
        self.texts.append(text.encode())
        return <const char *><bytes>self.texts[-1]

    cdef int _add_port(self, int index, be_role role, str text, str kind, object dtype, tuple shape, list low,
                       list high) except -1:
        """low, high: a number per value, or one for all of them."""
        cdef be_port *port = &self.ports[index]
        cdef int k
        kinds = {"box": BE_SPACE_BOX, "discrete": BE_SPACE_DISCRETE, "multi_discrete": BE_SPACE_MULTI_DISCRETE,
                 "multi_binary": BE_SPACE_MULTI_BINARY}
        port.name = self._text(text)
        port.role, port.kind, port.dtype = role, kinds[kind], <be_dtype><int>_dtypes.index(dtype)
        for k in range(len(shape)):
            port.shape[k] = shape[k]
        for k in range(BE_MAX_BOUNDS):
            self.lows[index][k] = low[min(k, len(low) - 1)]
            self.highs[index][k] = high[min(k, len(high) - 1)]
        port.low, port.high = self.lows[index][0], self.highs[index][0]
        return 0

    cdef void bound(self, be_setup *setup) noexcept nogil:
        """For prepare(): sets the bounds of all spaces."""
        cdef int k = 0
        while self.ports[k].name != NULL:
            memcpy(setup.space[k].low, self.lows[k], sizeof(self.lows[k]))
            memcpy(setup.space[k].high, self.highs[k], sizeof(self.highs[k]))
            k += 1
