/* The arrays of a group of lanes, and what stages are written with. */
#ifndef BE_PHYSICS_GROUP_H
#define BE_PHYSICS_GROUP_H

#include "engines/physics/algebra.h"
#include "engines/physics/physics.h"

/* Arrays that mjData does not have. */
#define BE_PHYSICS_SCRATCH(X)                                                                                          \
    X(body_acceleration, 6 * m->nbody) /* of mj_rne */                                                                 \
    X(body_force, 6 * m->nbody)                                                                                        \
    X(ten_J, m->nJten)                                                                                                 \
    X(damper, m->nv)                                                                                                   \
    X(fluid, m->nv)                                                                                                    \
    X(qDeriv, m->nD)    /* and qLU */                                                                                  \
    X(Dcacc, 6 * m->nB) /* of mjd_rne_vel */                                                                           \
    X(Dcfrc, 6 * m->nB)                                                                                                \
    X(gravcomp, *m->gravcomp * m->nv)                                                                                  \
    X(moments, m->num_moments * m->nv)                                                                                 \
    X(damped, m->nC) /* M - timestep * derivatives, factored */                                                        \
    X(damped_inverse, m->nv)                                                                                           \
    X(start_qpos, m->nq) /* of a step of mj_RungeKutta */                                                              \
    X(start_qvel, m->nv)                                                                                               \
    X(start_act, m->na)                                                                                                \
    X(velocity, 4 * m->nv) /* of its four evaluations */                                                               \
    X(acceleration, 4 * m->nv)                                                                                         \
    X(rates, 4 * m->na)                                                                                                \
    X(moved, m->nv)                                                                                                    \
    X(geom_bounds, m->num_clumps ? 6 * m->ngeom : 0)      /* boxes around geoms of clumps, as low and high corners, */ \
    X(clump_bounds, 6 * m->num_clumps)                    /* around clumps, */                                         \
    X(still_bounds, be_physics_shared(6 * m->ngeom))      /* around geoms that never move: numbers for all lanes, */   \
    X(block_bounds, be_physics_shared(6 * m->num_blocks)) /* and around blocks of these */                             \
    X(contact_found, m->num_candidates)                   /* masks */                                                  \
    X(contact_here, m->num_candidates) /* masks without contacts that are in their gap: they have no force */          \
    X(contact_dist, m->num_candidates)                                                                                 \
    X(contact_pos, 3 * m->num_candidates)                                                                              \
    X(contact_frame, 9 * m->num_candidates)                                                                            \
    X(contact_row, m->num_candidates) /* the number of its first row */                                                \
    X(contact_jacobian, 6 * m->nv)                                                                                     \
    X(matches, *m->senses &BE_SENSES_CONTACTS ? BE_PHYSICS_MATCH * m->num_candidates : 0)                              \
    X(row_tree, m->num_rows)      /* of each lane's rows: a tree of joints that they move */                           \
    X(tree_first, m->num_trees)   /* the first tree of each tree's island, of which all trees follow each other */     \
    X(loss, m->nf)                /* of rows of friction loss: the most force, */                                      \
    X(bound, m->nf)               /* and where it is reached */                                                        \
    X(row_here, m->num_rows)      /* masks: which lanes have a row there */                                            \
    X(cone_friction, m->num_rows) /* of rows of cones: see cone.h */                                                   \
    X(rows, BE_PHYSICS_PYRAMID * m->nv)                                                                                \
    X(equality_jacobian, m->num_equalities ? 6 * m->nv : 0)                                                            \
    X(weld_quats, 8 * m->num_equalities) /* the two orientations that a weld makes the same */                         \
    X(J, m->num_rows * m->nv)                                                                                          \
    X(D, m->num_rows)                                                                                                  \
    X(R, m->num_rows)                                                                                                  \
    X(aref, m->num_rows)                                                                                               \
    X(efc_force, m->num_rows)                                                                                          \
    X(Y, be_physics_has_pgs(m) * m->num_rows * m->nv) /* of mj_makeY */                                                \
    X(solver, be_physics_has_pgs(m) ? BE_PHYSICS_PROBLEM : be_physics_newton_size(m))

/* How many vectors there are in n numbers that all lanes have in common. */
static inline int64_t be_physics_shared(int64_t n) { return (n + BE_VL - 1) / BE_VL; }
enum { BE_PHYSICS_PYRAMID = 10 }; /* rows that a contact makes at most */
enum { BE_PHYSICS_MATCH = 10 };   /* numbers that a sensor keeps of a contact: see touch.c */
enum { BE_PHYSICS_PROBLEM = BE_PGS_ROWS * (BE_PGS_ROWS + 12) + 60 }; /* numbers that a lane's solver takes: see pgs.c */
enum { BE_SPARSE_UPDATES = 4 }; /* rows that a factor takes together: see sparse.c */
static inline int be_physics_has_pgs(const be_physics_model *m) { return *m->solves == BE_SOLVES_PGS; }
static inline int64_t be_physics_newton_size(const be_physics_model *m) { /* see newton.c */
    const int64_t nv = m->nv;
    if (*m->sparse) return 10 * m->num_rows + 5 * nv + 3 * m->nL + (BE_SPARSE_UPDATES + 1) * nv;
    return 10 * m->num_rows + 5 * nv + 2 * nv * nv + (*m->opt_cone ? nv * nv + 6 * nv : 0);
}

/* With sparse matrices: the last `count` degrees of freedom that move `last`, and itself, which are those that a row of
 * constraints moves. Then a row of J begins with their numbers, and has no others. Otherwise `count` is nv. */
typedef struct be_chain {
    int last, count;
} be_chain;

/* The degrees of freedom of a chain. */
static inline const int32_t *be_chain_dofs(const be_physics_model *m, be_chain chain) {
    return m->L_colind + m->L_rowadr[chain.last] + m->L_rownnz[chain.last] - chain.count;
}

/* A candidate of a contact, and its pair of geoms. */
typedef struct be_physics_touching {
    int pair, candidate;
} be_physics_touching;

#define BE_PHYSICS_VECTOR(name, count) be_vd *name;
struct be_physics_group {
    const be_physics_model *m;
    int64_t counts[BE_PHYSICS_NUM_ARRAYS]; /* how many numbers of each array a lane has */
    const double *floats;                  /* the model's numbers, of the first lane */
    const be_vd *columns;                  /* those of all lanes, if they differ; room for them is in `wide_columns` */
    be_vd *wide_columns;
    int wide;             /* 1: read `columns` */
    uint64_t *always;     /* bits of always_pairs, */
    uint64_t *near;       /* of pairs that have to be looked at in this evaluation, */
    uint64_t *filled;     /* and of those whose numbers are in `columns`: those of others are not */
    int still;            /* 1: what never moves has its place, and its boxes, */
    int still_filled;     /* and 1: the columns of such geoms have their numbers, */
    double still_from[2]; /* of models with this still_digest */
    be_physics_job *job;
    be_vl nefc;          /* rows of constraints of each lane */
    be_vl next;          /* the first place that a next row of each lane may have: lanes with cones leave out some */
    int num_places;      /* for rows, so far */
    int *row_dim;        /* by place: 1, or how many rows belong to the cone that begins there */
    be_chain *row_chain; /* with sparse matrices, by place: what the row moves, */
    int *row_block;      /* and at its first row how many rows the constraint there has */
    int num_touching;    /* candidates of contacts that some lane has: */
    be_physics_touching *touching;
    unsigned present; /* bits of lanes that are stepped and have not failed */
    unsigned left;    /* bits of lanes whose constraints are left to the caller */
    unsigned crowded; /* bits of those that have too many contacts with BE_OWN_CALLED */
    unsigned edges;   /* bits of those with contacts that have just begun, which MuJoCo may overlook */
    unsigned crossed; /* bits of those with contacts that move joints of several chains, with sparse matrices */
    unsigned called;  /* bits of those for which be_physics_job.collide was called */
    int num_called;   /* candidates of such contacts so far */
    unsigned joined;  /* bits of lanes with rows, made here, that move several trees of joints */
    int forces;       /* 1: cfrc_ext is wanted of this evaluation */
    int senses;       /* BE_SENSES_...: what its sensors need; 0 if they are not read */
    unsigned touched; /* bits of lanes whose contacts were found here, and constraints solved */
    unsigned asked;   /* bits of lanes for which the caller has answered BE_WANTS_SENSORS */
    be_vd time;
    union {
        struct {
            BE_PHYSICS_ARRAYS(BE_PHYSICS_VECTOR)
        };
        be_vd *arrays[BE_PHYSICS_NUM_ARRAYS];
    };
    BE_PHYSICS_SCRATCH(BE_PHYSICS_VECTOR)
};

/* Stages. They read and write arrays of the group; each comment says which MuJoCo function it is. */
#define BE_PHYSICS_STAGES(X)                                                                                           \
    X(kinematics)    /* mj_kinematics */                                                                               \
    X(com_pos)       /* mj_comPos */                                                                                   \
    X(tendon)        /* mj_tendon, and the velocities of tendons */                                                    \
    X(inertia)       /* mj_makeM (once mj_crb), mj_factorM */                                                          \
    X(com_vel)       /* mj_comVel */                                                                                   \
    X(passive)       /* mj_passive */                                                                                  \
    X(rne)           /* mj_rne without accelerations */                                                                \
    X(tendon_bias)   /* mj_tendonBias */                                                                               \
    X(transmission)  /* mj_transmission, of actuators with `moments` */                                                \
    X(actuation)     /* mj_transmission of the others, mj_fwdActuation */                                              \
    X(acceleration)  /* mj_fwdAcceleration */                                                                          \
    X(implicit)      /* mj_implicitSkip */                                                                             \
    X(fluid_vel)     /* mjd_inertiaBoxFluid */                                                                         \
    X(rne_vel)       /* mjd_rne_vel */                                                                                 \
    X(lu)            /* mju_factorLUSparse, mju_solveLUSparse */                                                       \
    X(lone_bodies)   /* mj_implicitSkip, of bodies that are alone in their tree */                                     \
    X(body_motion)   /* mj_rnePostConstraint, of cacc */                                                               \
    X(body_forces)   /* mj_rnePostConstraint, of cacc and cfrc_int */                                                  \
    X(subtree_vel)   /* mj_subtreeVel */                                                                               \
    X(touch)         /* mj_sensorAcc, of contacts */                                                                   \
    X(sensors)       /* mj_sensorPos, mj_sensorVel, mj_sensorAcc */                                                    \
    X(state_sensors) /* mj_sensorPos, mj_sensorVel */                                                                  \
    X(integrate)     /* mj_step, with mj_Euler, mj_implicitFast or mj_RungeKutta */

#define BE_PHYSICS_STAGE_NAME(name) BE_ISA_NAME(be_physics_##name)
#define BE_PHYSICS_DECLARE(name) void BE_PHYSICS_STAGE_NAME(name)(be_physics_group * g);
BE_PHYSICS_STAGES(BE_PHYSICS_DECLARE)

#define BE_BOX_ROOM 1e-6 /* by so much, and so many times its size, half of a geom_box is larger than MuJoCo's */
#define BE_SLACK 1e-9    /* is added to distances at which geoms may touch, so that rounding hides no contact */

/* Makes the boxes around what never moves, once it has its place. */
#define be_physics_bound_still BE_ISA_NAME(be_physics_bound_still)
void be_physics_bound_still(be_physics_group *g);

/* Finds the pairs whose geoms may be near each other in some lane: `near`. */
#define be_physics_find_near BE_ISA_NAME(be_physics_find_near)
void be_physics_find_near(be_physics_group *g);

static inline int64_t be_physics_words(const be_physics_model *m) { return (m->num_pairs + 63) / 64; }
/* The first pair of `near` from `pair` on, or num_pairs if there is none. */
static inline int be_physics_next_near(const be_physics_group *g, int pair) {
    const int64_t words = be_physics_words(g->m);
    int64_t word = pair / 64;
    if (word >= words) return (int)g->m->num_pairs;
    uint64_t bits = g->near[word] & ~(uint64_t)0 << pair % 64;
    while (!bits) {
        if (++word == words) return (int)g->m->num_pairs;
        bits = g->near[word];
    }
    return (int)(64 * word) + __builtin_ctzll(bits);
}
#define BE_FOR_NEAR(g, pair)                                                                                           \
    for (int pair = be_physics_next_near(g, 0); pair < (g)->m->num_pairs; pair = be_physics_next_near(g, pair + 1))

/* Finds contacts of all pairs but those with BE_OWN_NOT (mj_collision): `touching` and, of these candidates,
 * contact_found, contact_here, contact_dist, contact_pos, contact_frame. Returns the lanes that have any of
 * contact_here; those that have any at all get a bit in `touched`. Lanes with contacts that are not found here get a
 * bit in `left`. */
#define be_physics_collide BE_ISA_NAME(be_physics_collide)
unsigned be_physics_collide(be_physics_group *g);

/* Makes rows of friction loss, limits and contacts for some lanes (mj_makeConstraint, mj_makeImpedance,
 * mj_referenceConstraint): J, D, R, aref, nefc. Lanes for which there is no room get a bit in `left`. */
#define be_physics_make_constraint BE_ISA_NAME(be_physics_make_constraint)
void be_physics_make_constraint(be_physics_group *g, unsigned lanes);

/* The lanes in which another tree is between those of an island, among the rows that were made here. */
#define be_physics_islands_apart BE_ISA_NAME(be_physics_islands_apart)
unsigned be_physics_islands_apart(const be_physics_group *g);

/* Solves for qacc, qfrc_constraint and, where it is wanted, efc_force of some lanes (mj_solNewton). Lanes whose Hessian
 * is singular get a bit in `left`. */
#define be_physics_newton BE_ISA_NAME(be_physics_newton)
void be_physics_newton(be_physics_group *g, unsigned lanes);

/* The same with mj_solPGS. */
#define be_physics_pgs BE_ISA_NAME(be_physics_pgs)
void be_physics_pgs(be_physics_group *g, unsigned lanes);

/* Makes cfrc_ext the forces that are applied to bodies (mj_rnePostConstraint). */
#define be_physics_begin_forces BE_ISA_NAME(be_physics_begin_forces)
void be_physics_begin_forces(be_physics_group *g);

/* Adds the forces of contacts, and those of equalities in the lanes `held`, to cfrc_ext (mj_rnePostConstraint). */
#define be_physics_post_constraint BE_ISA_NAME(be_physics_post_constraint)
void be_physics_post_constraint(be_physics_group *g, unsigned lanes, unsigned held);

/* Fills in qacc and qfrc_constraint: the accelerations without constraints and, for lanes that have some, what the
 * caller answers. */
#define be_physics_constrain_lanes BE_ISA_NAME(be_physics_constrain_lanes)
void be_physics_constrain_lanes(be_physics_group *g);

/* Which lanes may have contacts of pairs with BE_OWN_NOT, as bits, or of one pair: no lane that has one is missing. */
#define be_physics_near BE_ISA_NAME(be_physics_near)
#define be_physics_pair_near BE_ISA_NAME(be_physics_pair_near)
unsigned be_physics_near(be_physics_group *g);
unsigned be_physics_pair_near(const be_physics_group *g, int pair);

/* Which lanes have the geoms of a pair in boxes that do not touch, as MuJoCo has these boxes: it may leave out such a
 * pair, though its function for the two shapes, which is not exact, would find a contact. */
#define be_physics_pair_apart BE_ISA_NAME(be_physics_pair_apart)
unsigned be_physics_pair_apart(const be_physics_group *g, int pair);

/* Evaluates the accelerations of the present positions and velocities (mj_forward). */
#define be_physics_forward BE_ISA_NAME(be_physics_forward)
void be_physics_forward(be_physics_group *g);

/* Factors a matrix with the sparsity of the model's M, in place (mj_factorI), and solves with it (mj_solveLD) for
 * degrees of freedom first..end-1, which are those of whole trees of joints. The first function returns the lanes whose
 * matrix is nearly singular: MuJoCo would warn, and go on with another one. */
#define be_physics_factor BE_ISA_NAME(be_physics_factor)
#define be_physics_solve BE_ISA_NAME(be_physics_solve)
unsigned be_physics_factor(const be_physics_model *m, be_vd *restrict matrix, be_vd *restrict inverse);
void be_physics_solve(const be_physics_model *m, int first, int end, be_vd *restrict x, const be_vd *matrix,
                      const be_vd *inverse);

/* A stage is written once as a function of the group and of `wide`, and inlined twice: lanes of one model read its
 * numbers as they are, lanes of several models read columns. */
#define BE_PHYSICS_STAGE(name)                                                                                         \
    void BE_PHYSICS_STAGE_NAME(name)(be_physics_group * g) {                                                           \
        if (g->wide) {                                                                                                 \
            name(g, 1);                                                                                                \
        } else {                                                                                                       \
            name(g, 0);                                                                                                \
        }                                                                                                              \
    }

/* The lanes of some bits, as be_mask_bits has them. */
static inline be_vl be_lanes_of(unsigned bits) {
    const be_vl lane = be_lane_numbers();
    return ((lane * 0 + (int64_t)bits) >> lane & 1) != 0;
}

/* Number `index` of the model's array `name`: for each lane, and for decisions, which are the same for all lanes of a
 * group (be_physics_alike says so of their models). */
#define BE_K(name, index) (wide ? g->columns[g->m->at.name + (index)] : be_set1(g->floats[g->m->at.name + (index)]))
/* Number `index` of those that a pair of geoms has at BE_PAIR_name. */
#define BE_PAIR(name, pair, index) BE_K(pair_numbers, BE_PAIR_NUMBERS *(pair) + BE_PAIR_##name + (index))
#define BE_K1(name, index) (g->floats[g->m->at.name + (index)])

#endif
