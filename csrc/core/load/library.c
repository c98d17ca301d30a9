#include "core/load/library.h"

#include "core/params.h"
#include "core/system/shared.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "random_state.h"

/* ---- loading ---------------------------------------------------------------------------------------- */

static int check_types(const be_library *types, const be_measures *measures, be_error *error);

int be_library_load(const char *path, be_loaded *loaded, be_error *error) {
    static const char *const isas[] = {"avx512", "avx2", "baseline", "any"};
    memset(loaded, 0, sizeof *loaded);
    if (!be_shared_show()) {
        return be_fail(error, BE_ERROR_VALUE, -1, "batchenv's own module cannot be shown to a library: %s",
                       be_shared_problem());
    }
    void *library = be_shared_open(path);
    if (library == NULL) return be_fail(error, BE_ERROR_VALUE, -1, "it cannot be loaded: %s", be_shared_problem());
    for (int k = 0; k < 4; k++) {
        char symbol[32];
        snprintf(symbol, sizeof symbol, "be_library_%s", isas[k]);
        const be_library *types = be_shared_find(library, symbol);
        if (types == NULL) continue;
        if (types->abi != BE_ABI || types->type_bytes != sizeof(be_env_type)) {
            return be_fail(error, BE_ERROR_VALUE, -1,
                           "it was compiled with version %u of batchenv.h (types of %u bytes), and this batchenv has "
                           "version %u (%zu bytes): compile it again with `python -m batchenv compile`",
                           types->abi, types->type_bytes, BE_ABI, sizeof(be_env_type));
        }
        if (types->begin == types->end) continue;
        snprintf(symbol, sizeof symbol, "be_measures_of_%s", isas[k]);
        if (check_types(types, be_shared_find(library, symbol), error) != BE_OK) return error->status;
        loaded->parts[loaded->num_parts].isa = isas[k];
        loaded->parts[loaded->num_parts++].types = types;
    }
    if (loaded->num_parts) return BE_OK;
    return be_fail(error, BE_ERROR_VALUE, -1,
                   "it holds no env: a C file of an env includes batchenv.h and defines BE_ENV(name) = {...};");
}

static const be_env_type *find(const be_library *types, const char *name) {
    for (const be_env_type *const *type = types->begin; type < types->end; type++) {
        if (strcmp((*type)->name, name) == 0) return *type;
    }
    return NULL;
}

const be_env_type *be_loaded_type(const be_loaded *loaded, const char *isa, const char *name) {
    const char *const order[] = {isa, "baseline", "any"};
    for (int j = 0; j < 3; j++) {
        for (int k = 0; k < loaded->num_parts; k++) {
            if (strcmp(loaded->parts[k].isa, order[j]) != 0) continue;
            const be_env_type *type = find(loaded->parts[k].types, name);
            if (type) return type;
        }
    }
    return NULL;
}

/* ---- checking tables ---------------------------------------------------------------------------------
 *
 * A table without its {0} at the end runs on into whatever follows it in memory, so no row is trusted: a pointer must
 * point into something that is loaded, and a text must end. */

#define MAX_TEXT 1000

/* A member of a type under examination, for messages. */
typedef struct place {
    const char *type, *table;
    int row;          /* -1: it is not a row of a table */
    const char *name; /* the row's */
    be_error *error;
} place;

static int is_loaded(const void *pointer) { return pointer != NULL && be_shared_holds(pointer); }

/* The length of a text; -1: it is nowhere, or does not end within `most` bytes. */
static int text_length(const char *text, int most) {
    if (!is_loaded(text)) return -1;
    for (int i = 0; i < most; i++) {
        if (text[i] == '\0') return i;
        if (i % 64 == 63 && !is_loaded(text + i + 1)) return -1;
    }
    return -1;
}

static int is_text(const char *text) { return text_length(text, MAX_TEXT) >= 0; }

/* How many bytes the character has that a text starts with; 0: they are no character of UTF-8. */
static int utf8_length(const char *text) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000}; /* of a character of so many bytes */
    const unsigned char first = (unsigned char)*text;
    const int length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    unsigned code = first & (0xffu >> (length + 1));
    for (int i = 1; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) return 0; /* the end of the text, too */
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    }
    if (length > 1 && (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))) return 0;
    return length;
}

static int bad(const place *at, const char *rule) {
    if (at->row < 0) return be_fail(at->error, BE_ERROR_VALUE, -1, "type %s: %s %s", at->type, at->table, rule);
    const char *name = is_text(at->name) ? at->name : NULL;
    return be_fail(at->error, BE_ERROR_VALUE, -1, "type %s: row %d of %s%s%.60s%s %s", at->type, at->row, at->table,
                   name ? " (\"" : "", name ? name : "", name ? "\")" : "", rule);
}

/* Whether users can be shown a text, which is called `what`, and whose rule is `missing` where there is none. */
static int check_text(const char *text, const char *what, const char *missing, const place *at) {
    char rule[400];
    if (!is_loaded(text)) return bad(at, missing);
    const int length = text_length(text, MAX_TEXT);
    if (length < 0) {
        snprintf(rule, sizeof rule, "has a %s that does not end within %d bytes: shorten it (or {0} is missing)", what,
                 MAX_TEXT);
        return bad(at, rule);
    }
    int good = 0;
    for (int step = 1; good < length && step > 0; good += step) step = utf8_length(text + good);
    if (good == length) return BE_OK;
    const int from = good > 40 ? good - 40 : 0;
    snprintf(rule, sizeof rule,
             "has a %s that is not UTF-8: its byte %d is 0x%02x, in \"%s%.*s\": save the C file as UTF-8, or write the "
             "letter as \\u and four digits",
             what, good, (unsigned char)text[good], from ? "..." : "", good + 20 - from, text + from);
    return bad(at, rule);
}

/* How long the name is that a text starts with and that can be a keyword of Python's; 0: it starts with none. */
static size_t word_length(const char *text) {
    if (*text >= '0' && *text <= '9') return 0;
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

static int is_word(const char *text) {
    const size_t length = is_text(text) ? word_length(text) : 0;
    return length > 0 && text[length] == '\0';
}

/* Such names, divided by "/". */
static int is_path(const char *text) {
    size_t length = is_text(text) ? word_length(text) : 0;
    while (length > 0 && text[length] == '/') {
        text += length + 1;
        length = word_length(text);
    }
    return length > 0 && text[length] == '\0';
}

static int is_twice(const char *name, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) return 1;
    }
    return 0;
}

/* Whether there is a row and not the end of its table. All rows start with their names. */
static int is_row(const void *row, place *at) {
    at->name = is_loaded(row) ? *(const char *const *)row : NULL;
    return at->name != NULL;
}

static int is_zero(const unsigned char *row, size_t bytes) {
    while (bytes > 0 && row[bytes - 1] == 0) bytes--;
    return bytes == 0;
}

/* Whether {0} ends a table of `bytes` bytes (SIZE_MAX: nobody knows), and no row comes after it. */
static int check_end(const void *table, size_t row_bytes, size_t bytes, place at) {
    if (table == NULL || bytes == SIZE_MAX) return BE_OK;
    const unsigned char *const rows = table;
    const int count = (int)(bytes / row_bytes);
    int end = 0;
    while (end < count && is_row(rows + (size_t)end * row_bytes, &at)) end++;
    if (end == count) {
        at.row = count - 1;
        if (count > 0) (void)is_row(rows + (size_t)at.row * row_bytes, &at);
        return bad(&at, count ? "is the last: write {0} after it, which ends the table" : "has no row, not even {0}");
    }
    at.row = end;
    for (int later = end + 1; later < count; later++) {
        place next = at;
        if (!is_row(rows + (size_t)later * row_bytes, &next)) continue;
        return be_fail(
            at.error, BE_ERROR_VALUE, -1,
            "type %s: row %d of %s has no name, but row %d (\"%.60s\") follows: a table ends at the first row "
            "without a name, so write row %d, or take its name out of the enum",
            at.type, end, at.table, later, is_text(next.name) ? next.name : "?", end);
    }
    if (is_zero(rows + (size_t)end * row_bytes, row_bytes)) return BE_OK;
    return bad(&at, "has no name: give it one (only {0}, which ends the table, has none)");
}

#define NO_END "is the last that is possible, and {0} has to end the table"
#define NO_DOC "has no doc: one line that says what it is, with the unit"
#define NO_PATH                                                                                                        \
    "has no good name: letters, digits and _, as a keyword of Python's, or several such with / between them (or {0} "  \
    "is missing at the end)"
#define NO_WORD "has no good name: letters, digits and _, as a keyword of Python's (or {0} is missing at the end)"

static int check_fields(const be_field *table, place at) {
    const char *names[BE_MAX_FIELDS];
    for (at.row = 0; is_row(table + at.row, &at); at.row++) {
        const be_field *field = &table[at.row];
        if (at.row == BE_MAX_FIELDS) return bad(&at, NO_END);
        if (!is_word(field->name)) return bad(&at, NO_WORD);
        if (is_twice(field->name, names, at.row)) return bad(&at, "has the name of a row before it: choose another");
        if ((unsigned)field->dtype > BE_I8) return bad(&at, "has a dtype that is not in be_dtype");
        if (field->size < 1 || field->size > BE_MAX_FIELD_SIZE) return bad(&at, "needs a size from 1 to 16,777,216");
        if (check_text(field->doc, "doc", NO_DOC, &at) != BE_OK) return BE_ERROR_VALUE;
        if (field->low > field->high) return bad(&at, "has a low above its high: exchange them");
        names[at.row] = field->name;
    }
    return is_loaded(table + at.row) ? BE_OK : bad(&at, NO_END);
}

/* Whether there is a text for each code, and NULL after the last. */
static int are_texts(const char *const *texts, double last) {
    int64_t code = 0;
    while (code <= last && is_loaded(texts + code) && is_text(texts[code])) code++;
    return code > last && is_loaded(texts + code) && texts[code] == NULL;
}

/* Whether a part of a path such as "arm/0" is empty; "" has no parts. */
static int has_empty_part(const char *path) {
    const size_t length = strlen(path);
    return length && (path[0] == '/' || path[length - 1] == '/' || strstr(path, "//"));
}

/* The driver takes a shape to end at its first 0, and sees nothing after that. */
static int check_shape(const be_port *port, const place *at) {
    int ended = 0;
    for (int i = 0; i < BE_MAX_DIMS; i++) {
        if (port->shape[i] < 0) return bad(at, "has a number below 0 in its shape: take numbers from 1 on");
        if (ended && port->shape[i] > 0)
            return bad(at, "has a 0 in its shape, which only prepare() may set: take it out");
        ended |= port->shape[i] == 0;
    }
    return BE_OK;
}

#define UNCOUNTED "has values beyond 2**53, which are not counted exactly: take smaller ones"

/* How many choices the values have. The driver keeps a number for each of the first BE_MAX_BOUNDS values, or one for
 * all. */
static int check_choices_of_port(const be_port *port, const place *at) {
    if (port->kind == BE_SPACE_DISCRETE && (fabs(port->low) > 0x1p53 || fabs(port->high) > 0x1p53)) {
        return bad(at, UNCOUNTED);
    }
    if (port->choices == NULL) return BE_OK;
    for (int64_t j = 0; j < port->shape[0]; j++) {
        if (!is_loaded(&port->choices[j])) return bad(at, "has choices that are nowhere");
        if (port->choices[j] > (int64_t)1 << 53) return bad(at, UNCOUNTED);
        if (port->shape[0] > BE_MAX_BOUNDS && port->choices[j] != port->choices[0]) {
            return bad(at,
                       "has more than 32 values with choices that differ: give all of them as many choices, or divide "
                       "the port into several");
        }
    }
    return BE_OK;
}

/* Checks only what the driver relies on when it makes a batch; it then checks names, roles and spaces itself. */
static int check_ports(const be_port *table, place at) {
    for (at.row = 0; is_row(table + at.row, &at); at.row++) {
        const be_port *port = &table[at.row];
        if (at.row == BE_MAX_PORTS) return bad(&at, NO_END);
        if (!is_text(port->name) || strlen(port->name) > 100) {
            return bad(&at, "has a name that is not a text of at most 100 letters (or the {0} at the end is missing)");
        }
        if (check_text(port->name, "name", NO_PATH, &at) != BE_OK) return BE_ERROR_VALUE;
        if ((unsigned)port->role > BE_REWARD) return bad(&at, "has a role that is none of be_role");
        if ((unsigned)port->kind > BE_SPACE_TEXT) return bad(&at, "has a kind that is none of be_space_kind");
        if ((unsigned)port->dtype > BE_I8) return bad(&at, "has a dtype that is none of be_dtype");
        if ((unsigned)port->when > BE_WHERE_NOT_0) return bad(&at, "has a `when` that is none of be_when");
        if (check_shape(port, &at) != BE_OK || check_choices_of_port(port, &at) != BE_OK) return BE_ERROR_VALUE;
        if (port->texts && !are_texts(port->texts, port->high)) {
            return bad(&at, "has something in .texts that is no text: write BE_TEXTS(\"first\", \"second\")");
        }
        for (int64_t code = 0; port->texts && port->texts[code]; code++) {
            if (check_text(port->texts[code], "text", NO_DOC, &at) != BE_OK) return BE_ERROR_VALUE;
        }
        if (port->write_text && !is_loaded((const void *)(uintptr_t)port->write_text)) {
            return bad(&at, "has a .write_text that is nowhere: give the name of a function of this file");
        }
        if (port->role != BE_INFO && port->role != BE_REWARD) {
            if (has_empty_part(port->name)) return bad(&at, "has a name with an empty part: write one between all /");
            continue;
        }
        if (!is_path(port->name)) return bad(&at, NO_PATH);
        if (check_text(port->doc, ".doc", "has no .doc: one line that says what it is", &at) != BE_OK) {
            return BE_ERROR_VALUE;
        }
    }
    return is_loaded(table + at.row) ? BE_OK : bad(&at, NO_END);
}

static int num_choices(const char *const *choices) {
    int count = 0;
    while (count <= 256 && is_loaded(choices + count) && choices[count] && is_text(choices[count])) count++;
    return count <= 256 && is_loaded(choices + count) && choices[count] == NULL ? count : 0;
}

/* Each choice of a CHOICE has a text of its own. */
static int check_choices(const be_param *param, const place *at) {
    const int count = num_choices(param->choices);
    for (int k = 0; k < count; k++) {
        if (check_text(param->choices[k], "choice", NO_DOC, at) != BE_OK) return BE_ERROR_VALUE;
        if (is_twice(param->choices[k], param->choices, k)) return bad(at, "has a choice twice: leave out one of them");
    }
    return BE_OK;
}

static int check_value(const be_param *param, double value, const place *at) {
    switch (param->kind) {
    case BE_PARAM_CHOICE:
        if (!(value >= 0 && value < num_choices(param->choices)) || value != floor(value)) {
            return bad(at,
                       "sets a CHOICE to a value that is not an index of its choices (texts, with a NULL at the end)");
        }
        return BE_OK;
    case BE_PARAM_TEXT:
        return value == 0 ? BE_OK : bad(at, "sets a TEXT to a number: write .text = \"...\"");
    case BE_PARAM_BOOL:
        return value == 0 || value == 1 ? BE_OK : bad(at, "sets a BOOL to a value other than 0 and 1");
    default:
        if (!(value >= param->low && value <= param->high)) return bad(at, "sets a value outside of low..high");
        if (param->kind == BE_PARAM_INT && value != floor(value)) return bad(at, "sets an INT to a fraction");
        return isfinite(value) ? BE_OK : bad(at, "sets a value that is not finite");
    }
}

/* most: how many rows a table of params or options may have. */
static int check_params(const be_param *table, int most, place at) {
    const char *names[BE_MAX_OPTIONS];
    for (at.row = 0; is_row(table + at.row, &at); at.row++) {
        const be_param *param = &table[at.row];
        if (at.row == most) return bad(&at, NO_END);
        if (!is_word(param->name)) return bad(&at, NO_WORD);
        if (is_twice(param->name, names, at.row)) return bad(&at, "has the name of a row before it: choose another");
        if ((unsigned)param->kind > BE_PARAM_TEXT) return bad(&at, "has a kind that is not in be_param_kind");
        if (check_text(param->doc, "doc", NO_DOC, &at) != BE_OK) return BE_ERROR_VALUE;
        if (param->kind == BE_PARAM_CHOICE && check_choices(param, &at) != BE_OK) return BE_ERROR_VALUE;
        if (check_value(param, param->value, &at) != BE_OK) return BE_ERROR_VALUE;
        if (param->kind == BE_PARAM_TEXT && (param->per_lane || strcmp(at.table, ".options") == 0)) {
            return bad(&at, "is a TEXT, which is set when the env is made, for all lanes: it can be neither an option "
                            "nor .per_lane");
        }
        if (param->text && (param->kind != BE_PARAM_TEXT || text_length(param->text, BE_MAX_TEXT + 1) < 0)) {
            return bad(&at, "has a .text that is not the default of a TEXT, of at most BE_MAX_TEXT bytes");
        }
        if (param->shared && param->per_lane) return bad(&at, "has both .shared and .per_lane: leave out one of them");
        names[at.row] = param->name;
    }
    return is_loaded(table + at.row) ? BE_OK : bad(&at, NO_END);
}

static int check_setting(const be_env_type *type, const be_setting *setting, const place *at) {
    if (!is_word(setting->name)) return bad(at, "has a setting without a good name: it must be the name of a param");
    const be_param *param = type->params;
    while (param && param->name && strcmp(param->name, setting->name) != 0) param++;
    if (param == NULL || param->name == NULL) {
        if (type->reads && strcmp(setting->name, "xml_file") == 0)
            return check_text(setting->text, "text", "sets xml_file to no text: .text = \"robot.xml\"", at);
        return bad(at, "sets something that is not in .params: add it there");
    }
    if (setting->text == NULL) return check_value(param, setting->value, at);
    if (param->kind == BE_PARAM_CHOICE && is_text(setting->text)) {
        for (int k = 0; param->choices[k]; k++) {
            if (strcmp(param->choices[k], setting->text) == 0) return BE_OK;
        }
    }
    if (param->kind == BE_PARAM_TEXT && text_length(setting->text, BE_MAX_TEXT + 1) >= 0) return BE_OK;
    return bad(at, "sets a param to a text that is not one of its choices");
}

/* Whether it has only letters, digits and "._-", perhaps after a namespace of the same and a /, and ends with a version
 * such as "-v0". */
static int is_id(const char *name) {
    if (!is_text(name) || strlen(name) > 100) return 0;
    const char *end = name + strlen(name), *digits = end;
    while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    if (digits == end || digits < name + 3 || digits[-1] != 'v' || digits[-2] != '-') return 0;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t first = strspn(name, letters);
    if (first && name[first] == '/') name += first + 1;
    return strspn(name, letters) == strlen(name) && digits >= name + 3;
}

static int check_ids(const be_env_type *type, place at) {
    for (at.row = 0; is_row(type->ids + at.row, &at); at.row++) {
        const be_id *id = &type->ids[at.row];
        if (at.row == 1000) return bad(&at, NO_END);
        if (!is_id(id->name)) return bad(&at, "needs a name and a version, such as \"MyGame-v0\" (or {0} is missing)");
        if (id->max_episode_steps < 0) return bad(&at, "has a max_episode_steps below 0 (0: no limit)");
        if (id->reward_threshold && (!is_loaded(id->reward_threshold) || !isfinite(*id->reward_threshold))) {
            return bad(&at, "has a reward_threshold that is not BE_THRESHOLD(a finite number)");
        }
        int num_settings = 0;
        while (num_settings < BE_MAX_SETTINGS && id->settings[num_settings].name) num_settings++;
        for (int k = 0; k < num_settings; k++) {
            if (check_setting(type, &id->settings[k], &at) != BE_OK) return BE_ERROR_VALUE;
        }
        for (int k = num_settings; k < BE_MAX_SETTINGS; k++) {
            if (id->settings[k].name) return bad(&at, "has a setting after an empty one: leave out the empty one");
        }
    }
    if (!is_loaded(type->ids + at.row)) return bad(&at, NO_END);
    if (at.row) return BE_OK;
    at.row = -1;
    return bad(&at, "has no row: give the env an id");
}

static int has_random_state(const be_field *table) {
    for (; table->name; table++) {
        if (strcmp(table->name, BE_RANDOM_STATE_NAME) == 0)
            return table->dtype == BE_U8 && table->size == (int)sizeof(be_random_state);
    }
    return 0;
}

static int check_reads(const be_read *table, place at) {
    for (at.row = 0; is_row(table + at.row, &at); at.row++) {
        const be_read *read = &table[at.row];
        if (!is_text(read->array)) return bad(&at, "has no name of an array (or {0} is missing at the end)");
        if ((read->object && !is_text(read->object)) || (read->name && !is_text(read->name)))
            return bad(&at, "has an object or a name that is no text");
    }
    return is_loaded(table + at.row) ? BE_OK : bad(&at, NO_END);
}

static int check_drawn(const be_drawn *table, place at) {
    for (at.row = 0; is_row(table + at.row, &at); at.row++) {
        const be_drawn *drawn = &table[at.row];
        if (!is_text(drawn->field)) return bad(&at, "has no name of a field (or {0} is missing at the end)");
        if (drawn->name && !is_text(drawn->name)) return bad(&at, "has a name that is no text");
        if ((unsigned)drawn->change > BE_SET) return bad(&at, "needs a change: BE_SCALE, BE_ADD or BE_SET");
        if ((unsigned)drawn->distribution > BE_NORMAL)
            return bad(&at, "needs a distribution: BE_UNIFORM, BE_LOG_UNIFORM or BE_NORMAL");
    }
    return is_loaded(table + at.row) ? BE_OK : bad(&at, NO_END);
}

static int check_type(const be_env_type *type, const be_table_bytes *bytes, be_error *error) {
    place at = {"?", ".abi", -1, NULL, error};
    if (type->abi != BE_ABI) return bad(&at, "must be BE_ABI: write `.abi = BE_ABI,` as the first member");
    at.table = ".name";
    if (!is_word(type->name)) return bad(&at, "must be a text of letters, digits and _");
    at.type = type->name;
#define NEEDED(member)                                                                                                 \
    at.table = "." #member;                                                                                            \
    if (type->member == NULL) return bad(&at, "is missing")
    NEEDED(reset);
    NEEDED(observe);
    NEEDED(step);
    NEEDED(ports);
    NEEDED(state);
    NEEDED(ids);
#define ENDED(member)                                                                                                  \
    at.table = "." #member;                                                                                            \
    if (check_end(type->member, sizeof *type->member, bytes->member, at) != BE_OK) return BE_ERROR_VALUE
    ENDED(ports);
    if (check_ports(type->ports, at) != BE_OK) return BE_ERROR_VALUE;
    ENDED(state);
    if (check_fields(type->state, at) != BE_OK) return BE_ERROR_VALUE;
    ENDED(params);
    if (type->params && check_params(type->params, BE_MAX_PARAMS, at) != BE_OK) return BE_ERROR_VALUE;
    ENDED(options);
    if (type->options && check_params(type->options, BE_MAX_OPTIONS, at) != BE_OK) return BE_ERROR_VALUE;
    ENDED(ids);
    if (check_ids(type, at) != BE_OK) return BE_ERROR_VALUE;
    ENDED(reads);
    if (type->reads && check_reads(type->reads, at) != BE_OK) return BE_ERROR_VALUE;
    ENDED(drawn);
    if (type->drawn && check_drawn(type->drawn, at) != BE_OK) return BE_ERROR_VALUE;
    if (type->drawn && type->reads == NULL)
        return bad(&at, "is of a simulator's model, but the type has no .reads, by which it gets one");
    at.table = ".model_pool";
    if (type->model_pool < 0) return bad(&at, "must not be below 0: say how many models are drawn");
    if (type->model_pool && type->drawn == NULL) return bad(&at, "needs a table .drawn: say what differs");
    at.table = ".family";
    if (type->family && check_text(type->family, "text", "must be a text", &at) != BE_OK) return BE_ERROR_VALUE;
    at.table = ".grid";
    if (type->grid && !is_word(type->grid)) return bad(&at, "must be a name of letters, digits and _");
    at.table = ".frames_per_second";
    if (type->frames_per_second < 0) return bad(&at, "must not be below 0: leave it out, or give the rate of pictures");
    at.table = ".flags";
    if (type->flags &
        ~(BE_STEP_FINISHED_HARMLESS | BE_LANE_BY_LANE | BE_OWN_LIMITS | BE_RANDOM_STATE | BE_SEED_CLEARS)) {
        return bad(&at, "has bits without a meaning: use BE_STEP_FINISHED_HARMLESS, BE_LANE_BY_LANE, BE_OWN_LIMITS, "
                        "BE_RANDOM_STATE and BE_SEED_CLEARS only");
    }
    if ((type->flags & BE_RANDOM_STATE) && !has_random_state(type->state))
        return bad(&at, "has BE_RANDOM_STATE, but .state has no BE_RANDOM_STATE_FIELD: put it there, or leave out the "
                        "flag");
    if ((type->flags & BE_LANE_BY_LANE) && (type->flags & BE_OWN_LIMITS))
        return bad(&at, "has both BE_LANE_BY_LANE and BE_OWN_LIMITS: leave out the latter, which the former includes");
    at.table = ".saved_bytes, .save and .load";
    if (!type->saved_bytes != !type->save || !type->save != !type->load)
        return bad(&at, "must all be set, or none of them");
    return BE_OK;
}

/* How large the tables of a type are; measures: NULL for a library that was compiled without them. */
static be_table_bytes measured(const be_env_type *type, const be_measures *measures) {
    be_table_bytes bytes;
    for (be_measure *const *measure = measures ? measures->begin : NULL; measures && measure < measures->end;
         measure++) {
        if ((*measure)(&bytes) == type) return bytes;
    }
    memset(&bytes, 0xff, sizeof bytes); /* SIZE_MAX */
    return bytes;
}

static int check_types(const be_library *types, const be_measures *measures, be_error *error) {
    if (types->end - types->begin > BE_MAX_TYPES) {
        return be_fail(error, BE_ERROR_VALUE, -1, "it has more than %d types", BE_MAX_TYPES);
    }
    for (const be_env_type *const *type = types->begin; type < types->end; type++) {
        const be_table_bytes bytes = measured(*type, measures);
        if (check_type(*type, &bytes, error) != BE_OK) return error->status;
        for (const be_env_type *const *other = types->begin; other < type; other++) {
            if (strcmp((*other)->name, (*type)->name) == 0) {
                return be_fail(error, BE_ERROR_VALUE, -1, "it has two types with the name %s: rename one",
                               (*type)->name);
            }
        }
    }
    return BE_OK;
}
