# Env types from libraries that others have written, in addition to the built-in ones.

# {name of a type: the library that holds it}. Libraries are never unloaded, and a name always means the same type.
cdef dict _loaded_types = {}


@cython.final
cdef class Library:
    """A shared library of env types; see csrc/core/load/library.h. Messages name it as `origin`, which a user knows.

    types: as `env_types` returns them, with the names by which `Batch` and `type_info` find them: if another type
        already has a name, "#2" is added. isas: the instruction sets that it was compiled for, best first.

    Raises:
        ValueError: it cannot be loaded, or breaks a rule.
    """

    cdef be_loaded loaded
    cdef dict plain_names
    cdef readonly list types, isas

    def __cinit__(self, str path, str origin):
        cdef be_error error
        cdef const be_env_type *const *env_type
        cdef int k
        cdef bytes name = os.fsencode(path)
        if be_library_load(name, &self.loaded, &error) != BE_OK:
            raise ValueError(f"{origin}: {error.message.decode(errors='replace')}")
        self.types, self.plain_names, self.isas = [], {}, []
        for k in range(self.loaded.num_parts):
            self.isas.append(self.loaded.parts[k].isa.decode())
            env_type = self.loaded.parts[k].types.begin
            while env_type < self.loaded.parts[k].types.end:
                self.add(env_type[0])
                env_type += 1

    cdef void add(self, const be_env_type *env_type) except *:
        cdef bytes plain = env_type.name
        if plain in self.plain_names.values() or be_loaded_type(&self.loaded, b"", plain) == NULL:
            return  # already added for a better instruction set, or compiled only for one that other CPUs lack
        name, count = plain.decode(), 1
        while name in _loaded_types or be_type_named(be_isa_supported()[0], name.encode()) != NULL:
            count += 1
            name = f"{plain.decode()}#{count}"
        self.plain_names[name] = plain
        self.types.append({**_describe(env_type), "name": name})
        _loaded_types[name] = self

    cdef const be_env_type *find(self, const be_isa *isa, str name) noexcept:
        cdef bytes plain = self.plain_names[name]
        return be_loaded_type(&self.loaded, isa.name, plain)
