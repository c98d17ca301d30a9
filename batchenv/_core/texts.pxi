# Texts of which lanes write only the codes.

cdef enum:
    MOST_KEPT = 65536  # texts that have been made, of one port
    MOST_LISTED = 4096  # codes of a port whose space knows its texts


@cython.final
@cython.no_gc
cdef class TextSource:
    """Makes the texts of a port's codes, and keeps those that it has made.

    Attributes:
        ndim: axes of one lane's code, 0 or 1.
    """

    cdef const be_env_type *type  # never unloaded
    cdef const be_port *port
    cdef int64_t first, count  # codes are first to first + count - 1; count 0: any
    cdef readonly int ndim
    cdef dict made  # {code, or the bytes of several int64: text}

    cdef int start(self, const be_env_type *type, const be_port *port, int ndim, int64_t first=0,
                   int64_t count=0) except -1:
        """Codes are first to first + count - 1; count 0: as the table says."""
        self.type, self.port, self.made = type, port, {}
        self.ndim, self.first = ndim, first
        self.count = count or (<int64_t>port.high + 1 if ndim == 0 else 0)
        return 0

    def texts(self, codes):
        """The texts of these codes, int64 (n,) or (n, size): a tuple."""
        if self.ndim == 0:
            return tuple([self.of_code(code) for code in codes.tolist()])
        return tuple([self.text(row) for row in codes])

    def text(self, code):
        """The text of one lane's code, int64 () or (size,)."""
        cdef cnp.ndarray row = np.asarray(code, np.int64)
        if self.ndim == 0:
            return self.of_code(row.item())
        row = np.ascontiguousarray(row)
        return self.keep(row.tobytes(), <const int64_t *>cnp.PyArray_DATA(row))

    cdef str of_code(self, object code):
        cdef int64_t number = code
        return self.keep(code, &number)

    cdef str keep(self, object key, const int64_t *code):
        text = self.made.get(key)
        if text is None:
            if len(self.made) >= MOST_KEPT:
                self.made.clear()
            text = self.made[key] = self.make(code)
        return text

    cdef str make(self, const int64_t *code):
        cdef int size = 512, length
        cdef bytearray room
        if self.count and not self.first <= code[0] < self.first + self.count:
            raise self.no_text(code)
        if self.port.texts != NULL:
            return self.port.texts[code[0]].decode("utf-8", "replace")
        while True:
            room = bytearray(size)
            length = self.port.write_text(self.type, code, room, size)
            if length < 0:
                raise self.no_text(code)
            if length < size:
                return room[:length].decode("utf-8", "replace")
            size = length + 1

    cdef object no_text(self, const int64_t *code):
        last = self.first + self.count - 1
        rule = f"codes are {self.first} to {last}" if self.count else "its function write_text returned -1"
        return ValueError(f"type {self.type.name.decode()}: lanes wrote the code {code[0]} through the port "
                          f"{self.port.name.decode()!r}, which stands for no text: {rule}")

    def listed(self):
        """All texts; None if they are too many to be listed, or unknown."""
        if not 0 < self.count <= MOST_LISTED:
            return None
        return [self.of_code(code) for code in range(self.first, self.first + self.count)]


cdef TextSource _text_source(const be_env_type *type, const be_port *port, const be_space *space):
    """What makes a port's texts; None: it has none."""
    cdef TextSource source
    cdef int64_t first
    if space.kind != BE_SPACE_TEXT:
        return None
    source = TextSource()
    if space.ndim == 0:
        first = <int64_t>space.low[0]
        source.start(type, port, 0, first, <int64_t>space.high[0] + 1 - first)
    else:
        source.start(type, port, space.ndim)
    return source
