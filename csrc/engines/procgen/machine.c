#include "engines/procgen/machine.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/system/fork.h"
#include "core/system/shared.h"
#include "engines/procgen/drawing.h"
#include "engines/procgen/guard.h"
#include "engines/procgen/libenv.h"

/* The library's functions. It is opened once and stays open: its images do not survive a second opening. */
static struct {
    void *handle;
    int broken; /* 1: it has not loaded its images, or it is not Procgen's */
    char path[4096], assets[4096];
#define POINTER(type, name, parameters) type(*name) parameters;
    LIBENV_FUNCTIONS(POINTER)
#undef POINTER
} lib;

/* Held while the library is opened, while games are made or taken apart, and by a thread that forks: a child has a
 * library that has loaded all or nothing. */
static pthread_mutex_t construction = PTHREAD_MUTEX_INITIALIZER;

/* Where all machines draw pictures. */
static struct {
    pthread_mutex_t lock;
    uint8_t rgb[BE_PICTURE_BYTES];
} picture = {.lock = PTHREAD_MUTEX_INITIALIZER};

typedef struct machine {
    be_machine shown;
    libenv_env *env; /* NULL: it was left in the middle of a call, and cannot be freed */
    int32_t action;
    uint8_t called; /* it is in a call; at the beginning of one: it was, when the process was forked */
    be_backdrop backdrop;
} machine;

/* ---- options ---------------------------------------------------------------------------------------- */

const char *const be_procgen_games[] = {
    "bigfish", "bossfight", "caveflyer", "chaser", "climber", "coinrun", "dodgeball", "fruitbot", "heist",
    "jumper",  "leaper",    "maze",      "miner",  "ninja",   "plunder", "starpilot", NULL,
};
const char *const be_procgen_modes[] = {"easy", "hard", "extreme", "memory", "exploration", NULL};

/* By game: the level of "exploration", or 0, and which modes there are besides easy and hard. */
static const struct {
    int32_t exploration;
    uint8_t extreme, memory;
} games[] = {
    {0, 0, 0}, {0, 0, 0},          {1259048185, 0, 1}, {0, 1, 0},          {1561126160, 0, 0}, {1949448038, 0, 0},
    {0, 1, 1}, {0, 0, 0},          {876640971, 0, 1},  {1434825276, 0, 1}, {1318677581, 1, 0}, {158988835, 0, 1},
    {0, 0, 1}, {1123500215, 0, 0}, {0, 0, 0},          {0, 1, 0},
};
enum { GAMES = sizeof games / sizeof games[0], MODES = BE_EXPLORATION + 1 };

static int has_mode(int32_t game, int32_t mode) {
    switch (mode) {
    case BE_EXTREME:
        return games[game].extreme;
    case BE_MEMORY:
        return games[game].memory;
    case BE_EXPLORATION:
        return games[game].exploration != 0;
    default:
        return 1;
    }
}

static int bad_mode(const be_procgen_options *o, be_error *error) {
    char list[100] = "";
    size_t used = 0;
    for (int mode = 0; mode < MODES; mode++) {
        if (!has_mode(o->game, mode)) continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s'%s'", used ? ", " : "", be_procgen_modes[mode]);
    }
    return be_fail(error, BE_ERROR_VALUE, -1, "distribution_mode='%s' is none of %s's: it must be one of %s",
                   be_procgen_modes[o->mode], be_procgen_games[o->game], list);
}

int be_procgen_check(const be_procgen_options *o, be_error *error) {
    if (o->game < 0 || o->game >= GAMES || o->mode < 0 || o->mode >= MODES || o->debug_mode < 0 || o->flags < 0 ||
        o->flags >= 1 << BE_NUM_FLAGS || o->num_levels < 0 || o->start_level < 0) {
        return be_fail(error, BE_ERROR_VALUE, -1, "an option of Procgen is out of range");
    }
    if (!has_mode(o->game, o->mode)) return bad_mode(o, error);
    if (o->mode == BE_EXPLORATION && (o->num_levels || o->start_level)) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "num_levels=%d and start_level=%d with distribution_mode='exploration', which is one level: "
                       "leave them out, or take distribution_mode='hard'",
                       o->num_levels, o->start_level);
    }
    if (o->start_level > INT32_MAX - o->num_levels) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "start_level=%d and num_levels=%d reach beyond level %d, the last: lower one of them",
                       o->start_level, o->num_levels, INT32_MAX);
    }
    return BE_OK;
}

/* ---- the library ------------------------------------------------------------------------------------ */

static int cannot_open(const char *path, be_error *error) {
    const char *problem = be_shared_problem();
    /* Qt's libraries are in the wheel; these two groups are the system's. */
    static const char *const of_system[][2] = {
        {"libGL", "libgl1"}, {"libgthread", "libglib2.0-0"}, {"libglib", "libglib2.0-0"}};
    for (size_t k = 0; k < sizeof of_system / sizeof of_system[0]; k++) {
        const char *name = strstr(problem, of_system[k][0]);
        if (name == NULL) continue;
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "Procgen's library needs %.*s, which this system does not have: apt-get install %s (or what "
                       "another system calls that package)",
                       (int)strcspn(name, ": "), name, of_system[k][1]);
    }
    return be_fail(error, BE_ERROR_VALUE, -1, "%s cannot be opened: %.300s", path, problem);
}

static int open_library(const char *path, int fast, be_error *error) {
    void *handle = be_shared_open(path);
    if (handle == NULL) return cannot_open(path, error);
    const char *missing = NULL;
#define FIND(type, name, parameters)                                                                                   \
    *(void **)&lib.name = be_shared_find(handle, #name);                                                               \
    if (lib.name == NULL) missing = #name;
    LIBENV_FUNCTIONS(FIND)
#undef FIND
    int status = BE_OK;
    if (missing) {
        status = be_fail(error, BE_ERROR_VALUE, -1,
                         "%s has no function %s, so it is not Procgen's: pip install --no-deps procgen2==0.10.7", path,
                         missing);
    } else if (lib.libenv_version() != LIBENV_VERSION) {
        status = be_fail(error, BE_ERROR_VALUE, -1,
                         "%s has version %d of gym3's interface, and batchenv knows version %d: pip install --no-deps "
                         "procgen2==0.10.7",
                         path, lib.libenv_version(), LIBENV_VERSION);
    } else if (!be_guard_install(handle)) {
        status = be_fail(error, BE_ERROR_VALUE, -1,
                         "%s would end the process at its first problem, because its linkage table cannot be written: "
                         "pip install --no-deps procgen2==0.10.7",
                         path);
    }
    if (status != BE_OK) {
        be_shared_close(handle);
    } else {
        lib.handle = handle;
        if (fast) be_drawing_install(handle);
    }
    return status;
}

/* Whether the arrays of a game are those that machines have room for. */
static int check_arrays(libenv_env *env, be_error *error) {
    static const struct {
        int kind, place;
        const char *name;
        int dtype, ndim, shape[3];
    } known[] = {
        {LIBENV_OBSERVATION, 0, "rgb", LIBENV_U8, 3, {BE_FRAME_SIDE, BE_FRAME_SIDE, 3}},
        {LIBENV_ACTION, 0, "action", LIBENV_I32, 0, {0}},
        {LIBENV_INFO, 0, "prev_level_seed", LIBENV_I32, 0, {0}},
        {LIBENV_INFO, 1, "prev_level_complete", LIBENV_U8, 0, {0}},
        {LIBENV_INFO, 2, "level_seed", LIBENV_I32, 0, {0}},
        {LIBENV_INFO, 3, "rgb", LIBENV_U8, 3, {BE_PICTURE_SIDE, BE_PICTURE_SIDE, 3}},
    };
    static const int counts[] = {[LIBENV_OBSERVATION] = 1, [LIBENV_ACTION] = 1, [LIBENV_INFO] = 4};
    static libenv_array arrays[4]; /* under the lock */
    int same = 1;
    for (size_t k = 0; k < sizeof known / sizeof known[0] && same; k++) {
        same = lib.libenv_get_tensortypes(env, known[k].kind, NULL) == counts[known[k].kind];
        if (!same) break;
        lib.libenv_get_tensortypes(env, known[k].kind, arrays);
        const libenv_array *array = &arrays[known[k].place];
        same = strncmp(array->name, known[k].name, sizeof array->name) == 0 && array->dtype == known[k].dtype &&
               array->ndim == known[k].ndim;
        for (int d = 0; d < known[k].ndim && same; d++) same = array->shape[d] == known[k].shape[d];
    }
    if (same) return BE_OK;
    return be_fail(error, BE_ERROR_VALUE, -1,
                   "%s has other arrays than Procgen's: pip install --no-deps procgen2==0.10.7", lib.path);
}

/* ---- machines --------------------------------------------------------------------------------------- */

typedef struct list {
    libenv_option items[20];
    int32_t numbers[20];
    uint8_t switches[20];
    int count;
} list;

static libenv_option *add(list *l, const char *name, int dtype, int count, void *data) {
    libenv_option *option = &l->items[l->count++];
    snprintf(option->name, sizeof option->name, "%s", name);
    option->dtype = dtype;
    option->count = count;
    option->data = data;
    return option;
}

static void add_text(list *l, const char *name, const char *text) {
    union {
        const char *in;
        void *out; /* the library only reads it */
    } data = {text};
    (void)add(l, name, LIBENV_U8, (int)strlen(text), data.out);
}

static void add_number(list *l, const char *name, int32_t value) {
    l->numbers[l->count] = value;
    (void)add(l, name, LIBENV_I32, 1, &l->numbers[l->count]);
}

static void add_switch(list *l, const char *name, int on) {
    l->switches[l->count] = on != 0;
    (void)add(l, name, LIBENV_U8, 1, &l->switches[l->count]);
}

static void fill(list *l, const be_procgen_options *o, uint32_t seed) {
    static const char *const flags[BE_NUM_FLAGS] = {
        [BE_SEQUENTIAL_LEVELS] = "use_sequential_levels",
        [BE_CENTER_AGENT] = "center_agent",
        [BE_BACKGROUNDS] = "use_backgrounds",
        [BE_GENERATED_ASSETS] = "use_generated_assets",
        [BE_MONOCHROME_ASSETS] = "use_monochrome_assets",
        [BE_RESTRICT_THEMES] = "restrict_themes",
        [BE_PAINT_VELOCITY] = "paint_vel_info",
    };
    static const int32_t modes[MODES] = {[BE_HARD] = 1, [BE_EXTREME] = 2, [BE_MEMORY] = 10, [BE_EXPLORATION] = 1};
    const int explores = o->mode == BE_EXPLORATION;
    int32_t number;
    memcpy(&number, &seed, sizeof number);
    l->count = 0;
    add_text(l, "env_name", be_procgen_games[o->game]);
    add_text(l, "resource_root", lib.assets);
    add_number(l, "num_levels", explores ? 1 : o->num_levels);
    add_number(l, "start_level", explores ? games[o->game].exploration : o->start_level);
    add_number(l, "distribution_mode", modes[o->mode]);
    add_number(l, "num_actions", BE_ACTIONS);
    add_number(l, "rand_seed", number);
    add_number(l, "num_threads", 0); /* act() runs in the thread that calls it */
    add_number(l, "debug_mode", o->debug_mode);
    add_switch(l, "render_human", 1); /* pictures are drawn by libenv_observe alone */
    for (int k = 0; k < BE_NUM_FLAGS; k++) add_switch(l, flags[k], o->flags >> k & 1);
}

/* A guarded call: what goes in and comes out. */
typedef struct call {
    machine *m;
    list options;
    const char *bytes;
    char *to;
    size_t size;
} call;

static void make(void *context) {
    call *c = context;
    c->m->env = lib.libenv_make(1, (libenv_options){c->options.items, c->options.count});
}

static void begin(void *context) {
    machine *m = ((call *)context)->m;
    be_machine *shown = &m->shown;
    void *observations[] = {shown->frame}, *actions[] = {&m->action};
    void *infos[] = {&shown->prev_level_seed, &shown->prev_level_complete, &shown->level_seed, picture.rgb};
    libenv_buffers buffers = {observations, &shown->reward, &shown->first, infos, actions};
    lib.libenv_set_buffers(m->env, &buffers); /* keeps what the lists point at, and not the lists */
}

static void act(void *context) { lib.libenv_act(((call *)context)->m->env); }
static void draw(void *context) { lib.libenv_observe(((call *)context)->m->env); }
static void load(void *context) {
    const call *c = context;
    lib.set_state(c->m->env, 0, c->bytes, (int)c->size);
}
static void save(void *context) {
    call *c = context;
    c->size = (size_t)lib.get_state(c->m->env, 0, c->to, (int)c->size);
}

/* Makes a guarded call of a machine's game. Returns 0 if it was ended, by the library or by a fork. */
static int run(void (*function)(void *), call *c) {
    machine *m = c->m;
    const int changes = m->shown.options.flags >> BE_GENERATED_ASSETS & 1; /* pictures are painted over */
    be_drawing_keep(changes ? NULL : &m->backdrop);
    if (m->called) return 0;
    m->called = 1;
    const int returned = be_guard_run(function, c);
    m->called = (uint8_t)!returned;
    return returned;
}

/* Notes that a machine's call was ended. */
static int ended(machine *m, be_error *error) {
    m->env = NULL; /* it may be in any state, even locked: it is never touched again */
    return be_fail(error, BE_ERROR_ENGINE, -1, "Procgen's library has given up %s: %s",
                   be_procgen_games[m->shown.options.game], be_guard_said());
}

/* If the library gets no memory, it ends the process, so machines are made only if there is enough of it. (Another
 * thread might take it in between.) */
#define MACHINE_ROOM ((size_t)2 << 20) /* a machine took 0.6 MB when measured */

static int has_room(size_t bytes) {
    void *volatile room = malloc(bytes);
    free(room);
    return room != NULL;
}

/* Makes the machine's game, under the lock. */
static int make_game(machine *m, uint32_t seed, be_error *error) {
    call c = {.m = m};
    fill(&c.options, &m->shown.options, seed);
    return run(make, &c) ? BE_OK : ended(m, error);
}

be_machine *be_machine_new(const be_procgen_options *options, uint32_t seed, be_error *error) {
    machine *m = has_room(MACHINE_ROOM) ? calloc(1, sizeof *m) : NULL;
    if (m == NULL) {
        be_fail(error, BE_ERROR_MEMORY, -1, "out of memory for one more game");
        return NULL;
    }
    m->shown.options = *options;
    pthread_mutex_lock(&construction);
    int status = make_game(m, seed, error);
    pthread_mutex_unlock(&construction);
    if (status == BE_OK && !run(begin, &(call){.m = m})) status = ended(m, error);
    if (status == BE_OK) return &m->shown;
    be_machine_close(&m->shown);
    return NULL;
}

void be_machine_close(be_machine *shown) {
    machine *m = (machine *)shown;
    if (m && m->env && !m->called) {
        pthread_mutex_lock(&construction);
        lib.libenv_close(m->env);
        pthread_mutex_unlock(&construction);
    }
    free(m);
}

/* Makes a game, so that the library loads its images. */
static int load_images(be_error *error) {
    machine m = {.shown.options = {.mode = BE_EASY}};
    int status = make_game(&m, 0, error);
    if (status == BE_OK) status = check_arrays(m.env, error);
    if (m.env) lib.libenv_close(m.env);
    lib.broken = status != BE_OK;
    return status;
}

static int open_once(const be_procgen_setup *setup, be_error *error) {
    if (lib.handle && lib.broken) {
        return be_fail(error, BE_ERROR_VALUE, -1,
                       "%s has not loaded its images from %s, or is not Procgen's: start a new process, with more "
                       "memory if there was little, or after reinstalling procgen2==0.10.7",
                       lib.path, lib.assets);
    }
    if (lib.handle) return BE_OK;
    snprintf(lib.path, sizeof lib.path, "%s", setup->library);
    snprintf(lib.assets, sizeof lib.assets, "%s", setup->assets);
    const int status = open_library(setup->library, setup->fast, error);
    return status == BE_OK ? load_images(error) : status;
}

static void before_fork(void) {
    pthread_mutex_lock(&construction);
    pthread_mutex_lock(&picture.lock);
}

static void after_fork(void) {
    pthread_mutex_unlock(&picture.lock);
    pthread_mutex_unlock(&construction);
}

static void watch_forks(void) { be_fork_beside(before_fork, after_fork); }

void be_procgen_watch_forks(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
}

int be_procgen_open(const be_procgen_setup *setup, be_error *error) {
    pthread_mutex_lock(&construction);
    const int status = open_once(setup, error);
    pthread_mutex_unlock(&construction);
    return status;
}

/* ---- what machines do ------------------------------------------------------------------------------- */

int be_machine_is_whole(const be_machine *shown) {
    const machine *m = (const machine *)shown;
    return m->env != NULL && !m->called;
}

int be_machine_act(be_machine *shown, int32_t action, be_error *error) {
    machine *m = (machine *)shown;
    m->action = action;
    return m->env && run(act, &(call){.m = m}) ? BE_OK : ended(m, error);
}

size_t be_machine_save(be_machine *shown, void *bytes, size_t size) {
    call c = {.m = (machine *)shown, .to = bytes, .size = size};
    return c.m->env && run(save, &c) ? c.size : 0;
}

int be_machine_load(be_machine *shown, const void *bytes, size_t size, be_error *error) {
    call c = {.m = (machine *)shown, .bytes = bytes, .size = size};
    return c.m->env && run(load, &c) ? BE_OK : ended(c.m, error);
}

int be_machine_draw(be_machine *shown, uint8_t *rgb) {
    call c = {.m = (machine *)shown};
    be_error error;
    pthread_mutex_lock(&picture.lock);
    const int drawn = c.m->env && run(draw, &c);
    if (drawn) memcpy(rgb, picture.rgb, sizeof picture.rgb);
    pthread_mutex_unlock(&picture.lock);
    if (!drawn) ended(c.m, &error);
    return drawn;
}
