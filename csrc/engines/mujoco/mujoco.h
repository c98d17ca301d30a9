/* MuJoCo: mjModel and mjData as opaque handles, reached through the user's own libmujoco.
 *
 * The caller makes models and data through MuJoCo's official bindings, which know the layout of its structs. This file
 * only has addresses of functions, of structs, and of the arrays in them, so it works with any version that has these
 * functions. What tasks see of it is in mujoco_task.h.
 */
#ifndef BE_MUJOCO_H
#define BE_MUJOCO_H

#include <string.h>

#include "batchenv.h"
#include "engines/physics/physics.h"
#include "mujoco_task.h"

/* Arrays that a step leaves as they are or reads, although they are not in MuJoCo's integration state: some where
 * bodies sleep, others with certain flags and sensors. batchenv/envs/mujoco/carried_arrays.py says which ones a model
 * has. */
enum { MJ_KEPT = 10 };

/* Warnings that mean that a simulation is unstable. */
enum { MJ_UNSTABLE = 4 };

/* A slot's own models: as a lane's model, `still` and `mute` are. */
enum { MJ_WHOLE, MJ_STILL, MJ_MUTE, MJ_KINDS };

/* The first number of a row of be_mujoco_source.drawn. */
enum {
    MJ_DRAWN_CHANGED = -3, /* the user has set a field since that is drawn: the numbers do not say what the model is */
    MJ_DRAWN_FAILED,
    MJ_DRAWN_OWN,
    MJ_NOT_DRAWN /* 0: the model is as it was compiled */
};

enum { MJ_ACTING = 4 }; /* the most rows of be_mujoco_source.acting */

/* MuJoCo's names of what is listed above. */
extern const char *const be_mujoco_array_names[MJ_ARRAYS];
extern const char *const be_mujoco_kept_names[MJ_KEPT];
extern const char *const be_mujoco_unstable_names[MJ_UNSTABLE];

/* Why a lane takes mj_step. */
enum {
    MJ_ALONE_SINGLE,   /* no other lane was at hand */
    MJ_ALONE_MODEL,    /* because of its model */
    MJ_ALONE_INPUT,    /* equalities have been switched on or off */
    MJ_ALONE_CALLBACK, /* a callback of the user's is set */
    MJ_ALONE_FAILED,   /* the group gave up: numbers of which MuJoCo may warn, or an error of MuJoCo */
    MJ_ALONE_CAUSES
};
extern const char *const be_mujoco_alone_texts[MJ_ALONE_CAUSES]; /* what users are told */

/* A lane consists of what decides its future (`state`, as mj_getState returns it) and of the arrays that its
 * observation reads. An mjData, which is hundreds of times as large, is lent to it for a step. There are only a few, so
 * they stay in the cache. */
typedef struct be_mujoco_lane {
    void *model;
    void *still; /* with `fresh`: the same model with its actuators disabled */
    void *mute;  /* the same model with its sensors disabled, for steps after which nobody reads them; or NULL */
    /* The integration state, then those of the MJ_KEPT arrays that the model has; if bodies may sleep, also an int32
     * per tree that says whether it sleeps. */
    double *state; /* now */
    /* Before the last mj_step, or mj_forward of tasks that hold joints in place; from it an mjData with all results of
     * that can be made. */
    double *before;
    double **arrays; /* as the last step or reset left them */
    /* For steps of several lanes at once: the numbers of the lane's model, or NULL where only mj_step will do; a copy
     * of all of the lane's numbers after its next step; and whether that is there. */
    const double *floats;
    double *ahead;
    int ready;
    int rows;       /* of constraints in its last step: lanes of about as many are stepped together */
    int own;        /* 1: its model is nobody else's */
    int drew;       /* 1: be_mujoco_draw_model was called for the episode that is about to begin */
    int64_t pooled; /* its model is this one of the pool, counted from 1; 0: it is not */
    /* Where it is about to be reset: how many steps it settles for, plus 1; 0: its episode has not been begun. */
    int64_t settles;
    int why; /* its next step is mj_step's, if it is: MJ_ALONE_... */
    /* What was done since the lane was made: steps of MuJoCo in groups, and by mj_step, by cause; and in how many
     * evaluations of a group MuJoCo's functions looked for contacts, or MuJoCo solved the lane's constraints, by cause
     * (BE_LEFT_...). */
    int64_t together, alone[MJ_ALONE_CAUSES], called, left[BE_LEFT_CAUSES];
} be_mujoco_lane;

/* An mjData that is lent to lanes. It has cache lines of its own, since one thread uses it at a time. */
typedef struct be_mujoco_slot {
    _Alignas(64) void *data;
    int32_t *warnings;    /* counters, be_mujoco_source.warning_stride bytes apart */
    int64_t busy;         /* 0: free; see be_mujoco_borrow() */
    int32_t *tree_asleep; /* where bodies may sleep */
    void *kept[MJ_KEPT];
    int stepped; /* 1: holds the results of a step or of mj_forward; mj_resetData leaves none */
    double **arrays;
    void *model[MJ_KINDS];                 /* its own, where there are be_mujoco_acting; NULL where none is needed */
    char *acting[MJ_KINDS][MJ_ACTING];     /* their arrays in these models */
    double *floats;                        /* numbers of a group's lanes, where lanes act on them */
    be_physics_group *group;               /* NULL if lanes are not stepped together */
    double *mirror[BE_PHYSICS_NUM_ARRAYS]; /* mjData's arrays of these names; NULL where it has none */
} be_mujoco_slot;

/* A field of a task's state that is a part of its lane's model, and acts on the physics: tasks draw it anew for each
 * episode. Lanes share a model, so slots have models of their own, to which it is copied for the lane that borrows the
 * slot. Its numbers are `step` from each other in the model's array, from `first` on. */
typedef struct be_mujoco_acting {
    int field; /* of the batch's fields */
    int bytes; /* of a number */
    int64_t count, first, step;
    char *compiled; /* the array in the model of all lanes */
    /* Which of a lane's numbers for groups they are: pairs of an index in the field and one in the floats. */
    int64_t num_floats;
    const int64_t *floats;
} be_mujoco_acting;

/* A start that is kept. */
enum { MJ_NOT_KEPT, MJ_BEING_KEPT, MJ_KEPT_NOW };
typedef struct be_mujoco_kind {
    int32_t stage;  /* MJ_NOT_KEPT, ... */
    double *record; /* record_size numbers */
} be_mujoco_kind;

enum { MJ_CALLBACKS = 7 };
extern const char *const be_mujoco_callback_names[MJ_CALLBACKS];

/* How lanes are stepped together. */
enum {
    MJ_STATE_TIME,
    MJ_STATE_QPOS,
    MJ_STATE_QVEL,
    MJ_STATE_ACT,
    MJ_STATE_WARMSTART,
    MJ_STATE_CTRL,
    MJ_STATE_QFRC_APPLIED, /* and XFRC_APPLIED follow each other */
    MJ_STATE_XFRC_APPLIED,
    MJ_STATE_MOCAP_POS,
    MJ_STATE_MOCAP_QUAT,
    MJ_STATES
};
enum {
    MJ_STAGE_TENDON,
    MJ_STAGE_COLLISION,
    MJ_STAGE_MAKE,
    MJ_STAGE_ISLAND,
    MJ_STAGE_PROJECT,
    MJ_STAGE_REFERENCE,
    MJ_STAGE_SOLVE,
    MJ_STAGE_SENSE, /* this one and the next two are NULL where only groups compute such sensors */
    MJ_STAGE_SENSE_FORCES,
    MJ_STAGE_SENSE_VELOCITIES,
    MJ_STAGE_CAMERAS,
    MJ_STAGE_POTENTIAL,
    MJ_STAGES
};
extern const char *const be_mujoco_state_names[MJ_STATES];
extern const char *const be_mujoco_stage_names[MJ_STAGES];
typedef struct be_mujoco_together {
    const be_physics_isa *isa; /* NULL: each lane takes mj_step */
    be_physics_model model;
    const void *without_contacts; /* the mjModel with contacts disabled */
    void (*stage[MJ_STAGES])(const void *model, void *data);
    be_physics_functions functions;
    /* MuJoCo's table of functions that find contacts, a row for each of its num_geom_types types of the first geom. */
    int (*const *collisions)(const void *model, void *data, be_physics_contact *found, int geom1, int geom2,
                             double margin);
    int64_t num_geom_types;
    int64_t state_at[MJ_STATES]; /* where the state's parts are in be_mujoco_lane.state */
    int64_t fixed_at, num_fixed; /* what users may change in a state, but not where it is in a group */
    const double *fixed;         /* what it must be */
    const int64_t *array_of;     /* for each array: its number in BE_PHYSICS_ARRAYS, or -1 */
} be_mujoco_together;

/* What Python has computed of lanes whose task is in NumPy (tasks/staged.c): rows of all lanes, by port. Observations
 * are the present ones, infos those of this step. */
typedef struct be_mujoco_stage {
    unsigned char *port[BE_MAX_PORTS];
    const unsigned char *start[BE_MAX_PORTS]; /* observations at the start of episodes that are about to begin */
    const double *reward;
    const uint8_t *terminated, *truncated;
    const char *const *failure, *const *start_failure; /* why a lane has failed in this call; NULL where it has not */
} be_mujoco_stage;
int be_mujoco_staged_open(be_batch *batch, const void *engine, be_error *error);
int be_mujoco_staged_reset(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error);
int be_mujoco_staged_observe(be_batch *batch, const int64_t *lanes, int64_t count, const be_rows *rows,
                             be_error *error);
int be_mujoco_staged_step(be_batch *batch, int64_t lane, int64_t end, const be_rows *rows, be_error *error);
size_t be_mujoco_staged_saved_bytes(const be_batch *batch);
void be_mujoco_staged_save(const be_batch *batch, int64_t lane, void *bytes);
void be_mujoco_staged_load(be_batch *batch, int64_t lane, const void *bytes);

/* What be_batch_options.engine points at for these types; batchenv/_core/mujoco.pxi fills it. It must stay where it is
 * as long as the batch lives, and so must everything that it points to. Only models and their arrays may change between
 * calls. */
typedef struct be_mujoco_source {
    BE_MUJOCO_VIEW /* first: a be_mujoco_view */
        int64_t num_lanes;

    void (*mj_step)(const void *model, void *data);
    void (*mj_step1)(const void *model, void *data);
    void (*mj_step2)(const void *model, void *data);
    void (*mj_forward)(const void *model, void *data);
    void (*mj_reset_data)(const void *model, void *data);
    void (*mj_rne_post_constraint)(const void *model, void *data);
    void (*mj_contact_force)(const void *model, const void *data, int contact, double force[6]);
    void (*mj_get_state)(const void *model, const void *data, double *state, unsigned signature);
    void (*mj_set_state)(const void *model, void *data, const double *state, unsigned signature);
    void (*mju_error)(const char *format, ...);
    void (*mj_update_sleep)(const void *model, void *data); /* NULL in versions whose bodies never sleep */
    /* They set what MuJoCo calls, in the calling thread, instead of exit() and of writing to a log file. The first two
     * exist up to MuJoCo 3, the third (whose handler gets a struct with the message in it) from 4 on. Those that do not
     * exist are NULL. */
    void (*set_error)(void (*handler)(const char *message));
    void (*set_warning)(void (*handler)(const char *message));
    void *(*set_log)(void (*handler)(const void *message));
    double (**time)(void); /* the variable that holds the function which MuJoCo asks for the time; may be NULL */
    /* MuJoCo's variables for functions of the user's, each NULL where there is none. If one is set, lanes take mj_step.
     * Such a function is Python's, and may raise an exception, of which MuJoCo knows nothing. So a call of MuJoCo for a
     * lane holds Python's lock from hold_python() to let_python_go(), which returns 1 if there was an exception, and
     * keeps it for `owner` as this lane's. */
    void **callback[MJ_CALLBACKS];
    int (*hold_python)(void);
    int (*let_python_go)(void *owner, int held, int64_t lane);
    void *owner;
    /* Where pictures are observed: draws a lane, returns 0, or keeps an exception for `owner` as this lane's. */
    int (*draw)(void *owner, const be_batch *batch, int64_t lane, unsigned char *picture);
    int64_t picture_height, picture_width;

    int64_t fingerprint;           /* identifies the model: snapshots fit only this one */
    unsigned state_signature;      /* what decides the future: mjSTATE_INTEGRATION */
    int64_t warning_stride;        /* bytes from counter to counter */
    int64_t unstable[MJ_UNSTABLE]; /* numbers of be_mujoco_unstable_names */
    int forces;                    /* 1: reads what only mj_rnePostConstraint computes */
    /* 1: after a step of the env, what depends on positions and velocities is computed anew (mj_step1), so that tasks
     * read it as it is where the step ends, and not where MuJoCo's last step began. */
    int fresh;
    int64_t contacts_at; /* byte of mjData's `ncon`, an int; -1: it is not known */
    /* Byte of the pointer to its contacts, bytes of one, and at which of them its two geoms are. */
    int64_t contact_at, contact_bytes, contact_geoms;
    int forward_warms;  /* 1: mj_forward is a warm start for the next step, as in MuJoCo 3.3.0 */
    int64_t state_size; /* of the integration state, in doubles */
    /* Where that has what users may set at any time: qfrc_applied, xfrc_applied, equalities, mocap bodies. */
    int64_t input_at, num_input;
    int64_t num_trees;           /* trees that may sleep; 0: none ever does */
    int64_t kept_bytes[MJ_KEPT]; /* 0: the model does not have the array */
    int64_t row_size;            /* of be_mujoco_lane.state, in doubles */
    int64_t num_arrays;          /* MJ_ARRAYS or more: of mjData, copied from there to the lane after each step */
    const int64_t *sizes;        /* num_arrays sizes. After these arrays come those in the lane's mjModel */
    be_mujoco_lane *lanes;       /* num_lanes */
    int64_t record_size; /* of a lane, in doubles: both states and all arrays, which follow be_mujoco_lane.state */
    int64_t num_slots;   /* if as many as lanes, lane i has slot i for itself */
    be_mujoco_slot *slots;
    int64_t num_acting;
    be_mujoco_acting acting[MJ_ACTING];
    /* 1: they place what never moves, of which groups then remember nothing from step to step. */
    int moves_still;
    be_mujoco_together together;
    const be_mujoco_stage *stage; /* NULL, except for tasks in NumPy */
    be_mujoco_settling *begin;    /* NULL, except for tasks that settle: their open() sets it */
    be_mujoco_pinning *pin;       /* the same for tasks that hold joints in place */
    be_mujoco_kind *kinds;        /* starts that are kept, or NULL: see be_mujoco_begin_alike */
    /* Models that are drawn when episodes start: see be_mujoco_draw_model. A lane's row of `drawn` says what its model
     * is (a number of the pool's models, counted from 1, or MJ_DRAWN_...), and which numbers were drawn for it. */
    int64_t num_drawn, num_pool;
    const uint8_t *drawn_normal; /* of each number: 1 if it is of a normal distribution */
    double *drawn;               /* num_lanes rows of 1 + num_drawn */
    const double *pool_numbers;  /* num_pool rows of num_drawn */
    be_mujoco_lane *pool;        /* model, still, floats and the arrays of models; model: NULL until it is made */
    /* Makes the model that the lane's row says, of the pool or of the lane's own, and gives it to the lane. raw: 1: the
     * numbers in the row are as the stream gave them, from 0 to 1 or of the standard normal distribution, and become
     * what was drawn; those of a pool's model are filled in. Returns 0, or keeps an exception for `owner` as this
     * lane's. */
    int (*change_model)(void *owner, int64_t lane, int raw);
} be_mujoco_source;

static inline const be_mujoco_source *be_mujoco_source_of(const be_batch *batch) { return batch->engine; }

/* Where velocities are in a lane's state: after the time and the positions. */
static inline int64_t be_mujoco_velocities_at(const be_mujoco_source *source) { return 1 + source->num_qpos; }

static inline const be_mujoco_lane *be_mujoco_lane_of(const be_batch *batch, int64_t lane) {
    const be_mujoco_source *source = batch->engine;
    return &source->lanes[lane];
}

/* The self-check: all lanes take `steps` steps from their present states twice, together and with mj_step, and then are
 * where mj_step has brought them. differs[i] becomes the index in the lane's record of the first number that is not the
 * same to the last bit, -1 if there is none, or -2 if the lane was left to mj_step anyway. unstable[i]: whether MuJoCo
 * found the simulation unstable. `actions`: num_ctrl floats per lane. */
void be_mujoco_compare(const be_mujoco_source *source, const float *actions, int64_t steps, int64_t *differs,
                       uint8_t *unstable);

/* Puts the model that a lane has, which must be its own, into the pool: the lane then has it from there. */
void be_mujoco_share_model(be_mujoco_source *source, int64_t lane, int64_t index);
/* Gives a lane a model of the pool that has been made, in place of its own. */
void be_mujoco_take_shared(be_mujoco_source *source, int64_t lane, int64_t index);

/* Gives data that is nobody's (`slot`) the results of the lane's last step or, if `stepped` is 0, of its last reset,
 * with the lane's model, or with `model`, which differs from it only in what the physics does not depend on. A last
 * step that had another model or other callbacks cannot be repeated: then these are the lane's present state, and what
 * mj_forward computes from it. `scratch`: state_size doubles. */
int be_mujoco_remake(const be_mujoco_source *source, int64_t lane, const void *model, int stepped, be_mujoco_slot *slot,
                     double *scratch, be_error *error);

#endif
