/* MuJoCo's step for several lanes at once: lane i of each vector belongs to lane i of a group, and does MuJoCo's
 * operations in MuJoCo's order, so that the results have MuJoCo's bits.
 *
 * Each stage of a step has a file, named as MuJoCo names the stage. Models come as arrays that the caller has read by
 * name, so no layout of mjModel is compiled in. Stages are compiled once per instruction set, and reached through
 * be_physics_isa. What a stage cannot do itself (constraints) it asks its caller for, lane by lane.
 */
#ifndef BE_PHYSICS_H
#define BE_PHYSICS_H

#include <stddef.h>
#include <stdint.h>

#define BE_PHYSICS_LANES 8 /* the most lanes of a group: the widest BE_VL */

/* ---- models ------------------------------------------------------------------------------------------ */

/* Sizes of a model, by MuJoCo's names (nsensor is 0 where sensors are disabled). Ours are:
 *   nL             numbers of L_colind
 *   num_trees      see tree_dofs
 *   num_lone       see lone_bodies
 *   num_pairs      see pair_geoms
 *   num_always, num_clumps, num_blocks, num_meetings   see always_pairs, clump_geoms, cell_pairs, meeting_pairs
 *   num_candidates how many contacts there can be at most between the pairs of pair_own, at a time
 *   num_called     how many of these, the last ones, may be of pairs with BE_OWN_CALLED
 *   num_equalities how many equalities are active, if all of them are made here
 *   ne, nf         how many rows of equalities, and of friction loss, each lane has: see friction_id
 *   num_moments    how many actuators have a row of `moments`: see actuator_moment
 *   num_rows       lanes with more rows of constraints are left to the caller */
#define BE_PHYSICS_SIZES(X)                                                                                            \
    X(nq)                                                                                                              \
    X(nv)                                                                                                              \
    X(nu)                                                                                                              \
    X(na)                                                                                                              \
    X(nbody)                                                                                                           \
    X(njnt)                                                                                                            \
    X(ngeom)                                                                                                           \
    X(nsite)                                                                                                           \
    X(ntendon)                                                                                                         \
    X(nC)                                                                                                              \
    X(nmocap)                                                                                                          \
    X(nD)                                                                                                              \
    X(nB)                                                                                                              \
    X(nJten)                                                                                                           \
    X(nL)                                                                                                              \
    X(nsensor)                                                                                                         \
    X(nsensordata)                                                                                                     \
    X(num_trees)                                                                                                       \
    X(num_lone)                                                                                                        \
    X(num_pairs)                                                                                                       \
    X(num_always)                                                                                                      \
    X(num_clumps)                                                                                                      \
    X(num_blocks)                                                                                                      \
    X(num_meetings)                                                                                                    \
    X(num_candidates)                                                                                                  \
    X(num_called)                                                                                                      \
    X(num_equalities)                                                                                                  \
    X(ne)                                                                                                              \
    X(nf)                                                                                                              \
    X(num_moments)                                                                                                     \
    X(num_rows)

/* Its whole numbers: MuJoCo's arrays, and settings from `opt`. Ours are:
 *   version     major * 1000 + minor: sums have another order from version to version
 *   damps       1: Euler's damping is implicit, and there is some
 *   always      1: each lane has constraints that are not made here at any time
 *   gravcomp    1: bodies may have gravity compensation
 *   acts        0: actuators are disabled
 *   acts_plainly   1: all actuators are at slide or hinge joints or tendons without limits of forces, have affine
 *               forces and no states, and none is disabled
 *   limits_tendons   1: some actuator is at a tendon with a limit of its actuators' forces
 *   wrap_side   the site on whose side a tendon wraps around a geom, or -1
 *   spatial     1: some tendon is not fixed
 *   sparse_jacobian   1: MuJoCo's Jacobians of constraints are sparse
 *   arms_tendons   1: some tendon has an armature
 *   polynomials BE_POLY_...: which springs and dampers are not linear
 *   actuator_moment   each actuator's row of `moments`, or -1: at a slide or hinge joint or a tendon
 *   actuator_common   of actuators at two sites: the last degree of freedom that moves both, or -1
 *   actuator_wraps   1: the setpoint may be an angle: see actuator_period
 *   actuator_disabled   1: of a disabled group
 *   solves      be_physics_solves: which solver there is here, for lanes whose constraints are all of known kinds
 *   senses      what sensors need besides the results of a step: BE_SENSES_...
 *   sensor_kind BE_SENSOR_..., or -1: unknown here, or -2: the caller's, see be_physics_sense
 *   sensor_spec, sensor_reduce   MuJoCo's sensor_intprm of sensors of contacts
 *   contact_shown   for each BE_SENSOR_CONTACT and each pair: 1, if the sensor shows the pair's contacts, -1, if it
 *               also turns their normal around, or 0
 *   jnt_shape, tendon_shape   be_physics_shape of the limit of each joint or tendon
 *   tendon_limited   BE_LIMIT_...
 *   eq_...      of num_equalities equalities: their BE_EQUAL_... (eq_kind); 1: between sites; the two joints, tendons,
 *               bodies or sites, the bodies of these and their trees of joints (-1: none); the first row, or -1 if
 *               MuJoCo leaves it out, because it moves nothing; and their be_physics_shape
 *   D_rownnz, D_rowadr, D_colind   the entries of the derivatives of forces by velocities: MuJoCo's or, where only M's
 *               are needed, M's. mapD2M says where among them each of M's is. Only implicit integrators have any.
 *   D_diag, mapM2D, B_rownnz, B_rowadr, B_colind   MuJoCo's, with the integrator implicit
 *   B_above     for each entry of B, that of the same degree of freedom in the parent's row, or -1
 *   lone_bodies bodies with a free joint, and nothing else in their tree, which implicitfast integrates in another way
 *   friction_id which degree of freedom, or nv + which tendon, each row of friction loss is of; tendons come last
 *   sparse      1: MuJoCo's solver has sparse matrices. Then these are of the factor of its Hessian, where each row of
 *               constraints moves degrees of freedom of one chain (empty otherwise): L_rownnz, L_rowadr and L_colind;
 *               where the degrees of freedom end that one moves (L_end); with which row the block of each begins when
 *               the factor is made, from the last row on (L_top), and when it is used, from the first row on (L_first);
 *               how many numbers there are in a row and those of all that move it (L_cost)
 *   tree_dofs   where each tree of joints begins in the degrees of freedom, and their number at the end
 *   pair_geoms  two numbers for each pair of geoms that may ever touch, in the order in which MuJoCo looks at them
 *   pair_kind   be_physics_pair_kind
 *   pair_own    who finds contacts of the pair: BE_OWN_...
 *   pair_dim    their condim
 *   pair_shape  be_physics_shape of their constraints
 *   body_still  1: nothing ever moves the body
 *   always_pairs   pairs that are looked at wherever their geoms are; the others are looked at where boxes around them
 *               meet. Those are first the boxes around clumps of geoms that move together: a clump's geoms are
 *               clump_geoms[clump_begin[i]] to clump_geoms[clump_begin[i + 1] - 1]
 *   cell_pairs  a cell is a clump and a geom that never moves (cell_geom); its pairs begin at cell_begin. A block is
 *               some cells of a clump (block_clump) whose geoms are near each other; they begin at block_begin
 *   meeting_pairs   a meeting is two clumps (meeting_clumps); its pairs begin at meeting_begin */
#define BE_PHYSICS_INTS(X)                                                                                             \
    X(body_parentid)                                                                                                   \
    X(body_rootid)                                                                                                     \
    X(body_weldid)                                                                                                     \
    X(body_jntnum)                                                                                                     \
    X(body_jntadr)                                                                                                     \
    X(body_dofnum)                                                                                                     \
    X(body_dofadr)                                                                                                     \
    X(body_sameframe)                                                                                                  \
    X(body_mocapid)                                                                                                    \
    X(body_still)                                                                                                      \
    X(jnt_type)                                                                                                        \
    X(jnt_qposadr)                                                                                                     \
    X(jnt_dofadr)                                                                                                      \
    X(jnt_limited)                                                                                                     \
    X(jnt_actfrclimited)                                                                                               \
    X(jnt_actgravcomp)                                                                                                 \
    X(dof_bodyid)                                                                                                      \
    X(dof_jntid)                                                                                                       \
    X(dof_parentid)                                                                                                    \
    X(dof_simplenum)                                                                                                   \
    X(geom_type)                                                                                                       \
    X(geom_bodyid)                                                                                                     \
    X(geom_sameframe)                                                                                                  \
    X(site_bodyid)                                                                                                     \
    X(site_sameframe)                                                                                                  \
    X(site_type)                                                                                                       \
    X(tendon_adr)                                                                                                      \
    X(tendon_num)                                                                                                      \
    X(tendon_limited)                                                                                                  \
    X(tendon_actfrclimited)                                                                                            \
    X(wrap_type)                                                                                                       \
    X(wrap_objid)                                                                                                      \
    X(wrap_side)                                                                                                       \
    X(spatial)                                                                                                         \
    X(sparse_jacobian)                                                                                                 \
    X(arms_tendons)                                                                                                    \
    X(actuator_trntype)                                                                                                \
    X(actuator_trnid)                                                                                                  \
    X(actuator_gaintype)                                                                                               \
    X(actuator_biastype)                                                                                               \
    X(actuator_dyntype)                                                                                                \
    X(actuator_actadr)                                                                                                 \
    X(actuator_actlimited)                                                                                             \
    X(actuator_actearly)                                                                                               \
    X(actuator_moment)                                                                                                 \
    X(actuator_common)                                                                                                 \
    X(actuator_wraps)                                                                                                  \
    X(actuator_disabled)                                                                                               \
    X(actuator_ctrllimited)                                                                                            \
    X(actuator_forcelimited)                                                                                           \
    X(sensor_kind)                                                                                                     \
    X(sensor_datatype)                                                                                                 \
    X(sensor_objtype)                                                                                                  \
    X(sensor_objid)                                                                                                    \
    X(sensor_reftype)                                                                                                  \
    X(sensor_refid)                                                                                                    \
    X(sensor_dim)                                                                                                      \
    X(sensor_adr)                                                                                                      \
    X(sensor_spec)                                                                                                     \
    X(sensor_reduce)                                                                                                   \
    X(M_rownnz)                                                                                                        \
    X(M_rowadr)                                                                                                        \
    X(M_colind)                                                                                                        \
    X(D_rownnz)                                                                                                        \
    X(D_rowadr)                                                                                                        \
    X(D_colind)                                                                                                        \
    X(D_diag)                                                                                                          \
    X(mapD2M)                                                                                                          \
    X(mapM2D)                                                                                                          \
    X(B_rownnz)                                                                                                        \
    X(B_rowadr)                                                                                                        \
    X(B_colind)                                                                                                        \
    X(B_above)                                                                                                         \
    X(lone_bodies)                                                                                                     \
    X(opt_cone)                                                                                                        \
    X(opt_integrator)                                                                                                  \
    X(opt_iterations)                                                                                                  \
    X(opt_ls_iterations)                                                                                               \
    X(version)                                                                                                         \
    X(damps)                                                                                                           \
    X(always)                                                                                                          \
    X(gravcomp)                                                                                                        \
    X(acts)                                                                                                            \
    X(acts_plainly)                                                                                                    \
    X(limits_tendons)                                                                                                  \
    X(polynomials)                                                                                                     \
    X(solves)                                                                                                          \
    X(senses)                                                                                                          \
    X(contact_shown)                                                                                                   \
    X(jnt_shape)                                                                                                       \
    X(tendon_shape)                                                                                                    \
    X(ten_J_rownnz)                                                                                                    \
    X(ten_J_rowadr)                                                                                                    \
    X(ten_J_colind)                                                                                                    \
    X(eq_kind)                                                                                                         \
    X(eq_sites)                                                                                                        \
    X(eq_objects)                                                                                                      \
    X(eq_bodies)                                                                                                       \
    X(eq_trees)                                                                                                        \
    X(eq_row)                                                                                                          \
    X(eq_shape)                                                                                                        \
    X(friction_id)                                                                                                     \
    X(sparse)                                                                                                          \
    X(L_rownnz)                                                                                                        \
    X(L_rowadr)                                                                                                        \
    X(L_colind)                                                                                                        \
    X(L_end)                                                                                                           \
    X(L_top)                                                                                                           \
    X(L_first)                                                                                                         \
    X(L_cost)                                                                                                          \
    X(tree_dofs)                                                                                                       \
    X(pair_geoms)                                                                                                      \
    X(pair_kind)                                                                                                       \
    X(pair_own)                                                                                                        \
    X(pair_dim)                                                                                                        \
    X(pair_shape)                                                                                                      \
    X(always_pairs)                                                                                                    \
    X(clump_begin)                                                                                                     \
    X(clump_geoms)                                                                                                     \
    X(block_clump)                                                                                                     \
    X(block_begin)                                                                                                     \
    X(cell_geom)                                                                                                       \
    X(cell_begin)                                                                                                      \
    X(cell_pairs)                                                                                                      \
    X(meeting_clumps)                                                                                                  \
    X(meeting_begin)                                                                                                   \
    X(meeting_pairs)

/* Its other numbers. Those of lanes may differ. Ours are:
 *   jnt_curve, tendon_curve   BE_CURVE numbers of the limit of each joint or tendon
 *   ball_reach     for each limited ball joint, a number: its quaternion's first number has a larger share of the
 *                  quaternion's squared length, unless the joint is near its limit
 *   tendon_coefs   how far each degree of freedom of ten_J_colind moves its fixed tendon
 *   eq_data (BE_EQUALITY_DATA numbers), eq_curve, and where the model has the two joints or tendons (eq_start)
 *   friction_loss, friction_R, friction_D, friction_damping   of each row of friction loss: see make_constraint.c
 *   dof_armature, dof_damping, dof_dampingpoly, tendon_damping, tendon_dampingpoly   with those of actuators; these and
 *                  jnt_stiffness, tendon_stiffness, opt_density and opt_viscosity are 0 if they are disabled
 *   jnt_stiffnesspoly, dof_dampingpoly, tendon_stiffnesspoly, tendon_dampingpoly   BE_POLY numbers each; empty where
 *                  `polynomials` does not name them
 *   tendon_actfrcrange   empty unless `limits_tendons`
 *   tendon_armature   with that of actuators
 *   actuator_period  after which a setpoint is the same angle, or 0; empty if none `wraps`
 *   actuator_decay   what is left of a filter's error is 1 - this, after a step; this and actuator_dynprm,
 *                  actuator_actrange, actuator_lengthrange and actuator_acc0 are empty where no actuator needs them
 *   geom_box       a box around each geom, in the geom's axes: its middle, and half of its sizes
 *   geom_reach     half of the most that a pair of this geom has as pair_begin
 *   still_digest   two numbers that are the same for models in which geoms that never move, and their places, are
 *   pair_numbers   BE_PAIR_NUMBERS numbers of each pair: see there */
#define BE_PHYSICS_FLOATS(X)                                                                                           \
    X(qpos0)                                                                                                           \
    X(qpos_spring)                                                                                                     \
    X(body_pos)                                                                                                        \
    X(body_quat)                                                                                                       \
    X(body_ipos)                                                                                                       \
    X(body_iquat)                                                                                                      \
    X(body_mass)                                                                                                       \
    X(body_subtreemass)                                                                                                \
    X(body_inertia)                                                                                                    \
    X(body_gravcomp)                                                                                                   \
    X(body_invweight0)                                                                                                 \
    X(jnt_pos)                                                                                                         \
    X(jnt_axis)                                                                                                        \
    X(jnt_stiffness)                                                                                                   \
    X(jnt_stiffnesspoly)                                                                                               \
    X(jnt_range)                                                                                                       \
    X(jnt_actfrcrange)                                                                                                 \
    X(jnt_margin)                                                                                                      \
    X(jnt_curve)                                                                                                       \
    X(ball_reach)                                                                                                      \
    X(dof_armature)                                                                                                    \
    X(dof_damping)                                                                                                     \
    X(dof_dampingpoly)                                                                                                 \
    X(dof_invweight0)                                                                                                  \
    X(dof_M0)                                                                                                          \
    X(geom_pos)                                                                                                        \
    X(geom_quat)                                                                                                       \
    X(geom_size)                                                                                                       \
    X(geom_box)                                                                                                        \
    X(geom_reach)                                                                                                      \
    X(still_digest)                                                                                                    \
    X(site_pos)                                                                                                        \
    X(site_quat)                                                                                                       \
    X(site_size)                                                                                                       \
    X(wrap_prm)                                                                                                        \
    X(tendon_coefs)                                                                                                    \
    X(tendon_range)                                                                                                    \
    X(tendon_margin)                                                                                                   \
    X(tendon_stiffness)                                                                                                \
    X(tendon_damping)                                                                                                  \
    X(tendon_stiffnesspoly)                                                                                            \
    X(tendon_dampingpoly)                                                                                              \
    X(tendon_actfrcrange)                                                                                              \
    X(tendon_lengthspring)                                                                                             \
    X(tendon_armature)                                                                                                 \
    X(tendon_invweight0)                                                                                               \
    X(tendon_curve)                                                                                                    \
    X(actuator_ctrlrange)                                                                                              \
    X(actuator_gainprm)                                                                                                \
    X(actuator_biasprm)                                                                                                \
    X(actuator_forcerange)                                                                                             \
    X(actuator_gear)                                                                                                   \
    X(actuator_cranklength)                                                                                            \
    X(actuator_dynprm)                                                                                                 \
    X(actuator_decay)                                                                                                  \
    X(actuator_actrange)                                                                                               \
    X(actuator_lengthrange)                                                                                            \
    X(actuator_acc0)                                                                                                   \
    X(actuator_period)                                                                                                 \
    X(sensor_cutoff)                                                                                                   \
    X(opt_timestep)                                                                                                    \
    X(opt_gravity)                                                                                                     \
    X(opt_magnetic)                                                                                                    \
    X(opt_density)                                                                                                     \
    X(opt_viscosity)                                                                                                   \
    X(opt_wind)                                                                                                        \
    X(opt_impratio)                                                                                                    \
    X(opt_tolerance)                                                                                                   \
    X(opt_ls_tolerance)                                                                                                \
    X(eq_data)                                                                                                         \
    X(eq_start)                                                                                                        \
    X(eq_curve)                                                                                                        \
    X(friction_loss)                                                                                                   \
    X(friction_R)                                                                                                      \
    X(friction_D)                                                                                                      \
    X(friction_damping)                                                                                                \
    X(pair_numbers)

enum { /* MuJoCo's numbers for jnt_type, sameframe and so on, which its files of models depend on */
       BE_FREE = 0,
       BE_BALL = 1,
       BE_SLIDE = 2,
       BE_HINGE = 3,
       BE_SAME_NONE = 0,
       BE_SAME_BODY = 1,
       BE_SAME_INERTIA = 2,
       BE_SAME_BODYROT = 3,
       BE_SAME_INERTIAROT = 4,
       BE_EULER = 0,
       BE_RK4 = 1,
       BE_IMPLICIT = 2,
       BE_IMPLICITFAST = 3,
       BE_PLANE = 0,
       BE_CAPSULE = 3,
       BE_AT_PARENT = 1, /* of actuator_trntype: a joint, in the axes of its parent */
       BE_AT_CRANK = 2,  /* a slider that a crank moves */
       BE_AT_TENDON = 3,
       BE_WRAP_JOINT = 1, /* of wrap_type */
       BE_WRAP_PULLEY = 2,
       BE_WRAP_SITE = 3,
       BE_AFFINE = 1, /* of actuator_gaintype and actuator_biastype */
       BE_MUSCLE = 2,
       BE_INTEGRATOR = 1, /* of actuator_dyntype */
       BE_FILTEREXACT = 3,
       BE_MUSCLE_STATE = 4,
       BE_GAIN_PARAMS = 10, /* numbers per row of actuator_gainprm, actuator_biasprm and actuator_dynprm */
       BE_OBJECT_BODY = 1,  /* of sensor_objtype and sensor_reftype: a body's inertial frame, and its own */
       BE_OBJECT_XBODY = 2,
       BE_OBJECT_GEOM = 5,
       BE_OBJECT_SITE = 6,
       BE_DATA_REAL = 0, /* of sensor_datatype */
       BE_DATA_POSITIVE = 1,
};

/* How the impedance of a constraint depends on its position. */
typedef enum be_physics_shape { BE_FLAT, BE_LINEAR, BE_QUADRATIC } be_physics_shape;
/* What solref and solimp come to: stiffness, damping, the impedances at both ends, width, midpoint, and the factors of
 * both halves of the curve. */
enum { BE_STIFFNESS, BE_DAMPING, BE_LEAST, BE_MOST, BE_WIDTH, BE_MIDPOINT, BE_BELOW, BE_ABOVE, BE_CURVE };

/* Where a pair's numbers are among those of pair_numbers. */
enum {
    BE_PAIR_REACH = 0,  /* how far apart the geoms' middles, axes and surfaces may be when a contact begins */
    BE_PAIR_BEGIN = 3,  /* how far apart the surfaces may be when MuJoCo notes a contact: the margin and the gap */
    BE_PAIR_MARGIN = 4, /* of contacts; so are the next two */
    BE_PAIR_FRICTION = 5,
    BE_PAIR_CURVE = 10, /* BE_CURVE numbers */
    BE_PAIR_NUMBERS = BE_PAIR_CURVE + BE_CURVE
};

enum { BE_POLY = 2 }; /* mjNPOLY */
enum { BE_POLY_SPRINGS = 1, BE_POLY_DAMPERS = 2, BE_POLY_TENDON_SPRINGS = 4, BE_POLY_TENDON_DAMPERS = 8 };
enum { BE_EQUAL_CONNECT, BE_EQUAL_WELD, BE_EQUAL_JOINTS, BE_EQUAL_TENDONS }; /* MuJoCo's eq_type */
enum { BE_EQUALITY_DATA = 11 };                                              /* numbers per row of eq_data */
/* Whether a tendon has limits, of which rows are made here, or only by the caller. */
enum { BE_LIMIT_NONE, BE_LIMIT_OWN, BE_LIMIT_FOREIGN };

typedef enum be_physics_solves { BE_SOLVES_NOTHING, BE_SOLVES_NEWTON, BE_SOLVES_PGS } be_physics_solves;
enum { BE_CONE_DIMS = 6 };    /* the most rows of an elliptic cone */
enum { BE_PGS_ROWS = 100 };   /* num_rows of models with BE_SOLVES_PGS: a multiple of 4, and no more than 255 */
enum { BE_MAX_SWEEPS = 100 }; /* of PGS: no model with BE_SOLVES_PGS asks for more iterations */

typedef enum be_physics_pair_kind {
    BE_PAIR_PLANE_BALL,    /* a plane and something in a ball */
    BE_PAIR_PLANE_CAPSULE, /* a plane and a capsule */
    BE_PAIR_BALLS,         /* two things in balls */
    BE_PAIR_CAPSULES,      /* capsules or spheres */
    BE_PAIR_PLANE_CYLINDER,
    BE_PAIR_PLANE_BOX,
    BE_PAIR_SPHERE_BOX,
    BE_PAIR_CAPSULE_BOX,
    BE_PAIR_PLANE_ELLIPSOID,
} be_physics_pair_kind;

/* Who finds contacts of a pair: the caller, who then solves all constraints of such a lane; this room, for all lanes of
 * a group; or MuJoCo's function for two such shapes, lane by lane (be_physics_job.collide). */
enum { BE_OWN_NOT, BE_OWN_LOOKED, BE_OWN_CALLED };
enum { BE_MOST_CONTACTS = 50 }; /* mjMAXCONPAIR: of a pair */

/* How many contacts there are at most in a pair with BE_OWN_LOOKED. */
static inline int be_physics_candidates(int kind) {
    static const int most[] = {
        [BE_PAIR_PLANE_BALL] = 1,      [BE_PAIR_PLANE_CAPSULE] = 2,
        [BE_PAIR_BALLS] = 1,           [BE_PAIR_CAPSULES] = 2,
        [BE_PAIR_PLANE_CYLINDER] = 4,  [BE_PAIR_PLANE_BOX] = 8, /* its corners, of which four touch at most */
        [BE_PAIR_SPHERE_BOX] = 1,      [BE_PAIR_CAPSULE_BOX] = 2,
        [BE_PAIR_PLANE_ELLIPSOID] = 1,
    };
    return most[kind];
}

/* The sensors that groups compute, by MuJoCo's names. */
#define BE_PHYSICS_SENSORS(X)                                                                                          \
    X(MAGNETOMETER)                                                                                                    \
    X(JOINTPOS)                                                                                                        \
    X(TENDONPOS)                                                                                                       \
    X(ACTUATORPOS)                                                                                                     \
    X(BALLQUAT)                                                                                                        \
    X(JOINTLIMITPOS)                                                                                                   \
    X(TENDONLIMITPOS)                                                                                                  \
    X(FRAMEPOS)                                                                                                        \
    X(FRAMEXAXIS)                                                                                                      \
    X(FRAMEYAXIS)                                                                                                      \
    X(FRAMEZAXIS)                                                                                                      \
    X(FRAMEQUAT)                                                                                                       \
    X(SUBTREECOM)                                                                                                      \
    X(CLOCK)                                                                                                           \
    X(VELOCIMETER)                                                                                                     \
    X(GYRO)                                                                                                            \
    X(JOINTVEL)                                                                                                        \
    X(TENDONVEL)                                                                                                       \
    X(ACTUATORVEL)                                                                                                     \
    X(BALLANGVEL)                                                                                                      \
    X(FRAMELINVEL)                                                                                                     \
    X(FRAMEANGVEL)                                                                                                     \
    X(SUBTREELINVEL)                                                                                                   \
    X(SUBTREEANGMOM)                                                                                                   \
    X(ACCELEROMETER)                                                                                                   \
    X(FORCE)                                                                                                           \
    X(TORQUE)                                                                                                          \
    X(ACTUATORFRC)                                                                                                     \
    X(JOINTACTFRC)                                                                                                     \
    X(TENDONACTFRC)                                                                                                    \
    X(TOUCH)                                                                                                           \
    X(CONTACT)                                                                                                         \
    X(FRAMELINACC)                                                                                                     \
    X(FRAMEANGACC)
#define BE_PHYSICS_SENSOR_ENUM(name) BE_SENSOR_##name,
enum { BE_PHYSICS_SENSORS(BE_PHYSICS_SENSOR_ENUM) BE_PHYSICS_NUM_SENSORS };
enum { BE_SENSOR_OF_ACCELERATIONS = BE_SENSOR_ACCELEROMETER }; /* the first of those that need more than a state */
extern const char *const be_physics_sensor_names[BE_PHYSICS_NUM_SENSORS];
enum {
    BE_SENSES_SUBTREES = 1,       /* subtree_linvel, subtree_angmom */
    BE_SENSES_FORCES = 2,         /* cacc, cfrc_int */
    BE_SENSES_CONTACTS = 4,       /* contacts */
    BE_SENSES_CALLER = 16,        /* the caller's answer in lanes with contacts: see BE_WANTS_SENSORS */
    BE_SENSES_ACCELERATIONS = 32, /* cacc alone */
    BE_SENSES_OTHERS = 64,        /* what the caller computes */
};

#define BE_PHYSICS_MEMBER(name) name,
#define BE_PHYSICS_ENUM(name) BE_PHYSICS_##name,
enum { BE_PHYSICS_SIZES(BE_PHYSICS_ENUM) BE_PHYSICS_NUM_SIZES };
enum { BE_PHYSICS_INTS(BE_PHYSICS_ENUM) BE_PHYSICS_NUM_INTS };
enum { BE_PHYSICS_FLOATS(BE_PHYSICS_ENUM) BE_PHYSICS_NUM_FLOATS };
extern const char *const be_physics_size_names[BE_PHYSICS_NUM_SIZES];
extern const char *const be_physics_int_names[BE_PHYSICS_NUM_INTS];
extern const char *const be_physics_float_names[BE_PHYSICS_NUM_FLOATS];

/* What all lanes of a batch have in common. A lane's floats are one row of num_floats doubles, in the order of
 * BE_PHYSICS_FLOATS; `starts` says where each begins. */
#define BE_PHYSICS_SIZE(name) int64_t name;
#define BE_PHYSICS_INT(name) const int32_t *name;
#define BE_PHYSICS_START(name) int64_t name;
typedef struct be_physics_model {
    union {
        struct {
            BE_PHYSICS_SIZES(BE_PHYSICS_SIZE)
        };
        int64_t sizes[BE_PHYSICS_NUM_SIZES];
    };
    union {
        struct {
            BE_PHYSICS_INTS(BE_PHYSICS_INT)
        };
        const int32_t *ints[BE_PHYSICS_NUM_INTS];
    };
    union {
        struct {
            BE_PHYSICS_FLOATS(BE_PHYSICS_START)
        } at;
        int64_t starts[BE_PHYSICS_NUM_FLOATS];
    };
    int64_t num_floats;
} be_physics_model;

/* ---- arrays ------------------------------------------------------------------------------------------ */

/* The arrays of a group, with MuJoCo's names in mjData, and how many numbers of them a lane has. */
#define BE_PHYSICS_ARRAYS(X)                                                                                           \
    X(qpos, m->nq)                                                                                                     \
    X(qvel, m->nv)                                                                                                     \
    X(ctrl, m->nu)                                                                                                     \
    X(act, m->na)                                                                                                      \
    X(qacc_warmstart, m->nv)                                                                                           \
    X(qfrc_applied, m->nv)                                                                                             \
    X(xfrc_applied, 6 * m->nbody)                                                                                      \
    X(mocap_pos, 3 * m->nmocap)                                                                                        \
    X(mocap_quat, 4 * m->nmocap)                                                                                       \
    X(xpos, 3 * m->nbody)                                                                                              \
    X(xquat, 4 * m->nbody)                                                                                             \
    X(xmat, 9 * m->nbody)                                                                                              \
    X(xipos, 3 * m->nbody)                                                                                             \
    X(ximat, 9 * m->nbody)                                                                                             \
    X(xanchor, 3 * m->njnt)                                                                                            \
    X(xaxis, 3 * m->njnt)                                                                                              \
    X(geom_xpos, 3 * m->ngeom)                                                                                         \
    X(geom_xmat, 9 * m->ngeom)                                                                                         \
    X(site_xpos, 3 * m->nsite)                                                                                         \
    X(site_xmat, 9 * m->nsite)                                                                                         \
    X(site_xquat, 4 * m->nsite) /* in mjData since MuJoCo 4 */                                                         \
    X(subtree_com, 3 * m->nbody)                                                                                       \
    X(cinert, 10 * m->nbody)                                                                                           \
    X(cdof, 6 * m->nv)                                                                                                 \
    X(crb, 10 * m->nbody)                                                                                              \
    X(M, m->nC)                                                                                                        \
    X(qLD, m->nC)                                                                                                      \
    X(qLDiagInv, m->nv)                                                                                                \
    X(ten_length, m->ntendon)                                                                                          \
    X(ten_velocity, m->ntendon)                                                                                        \
    X(actuator_length, m->nu)                                                                                          \
    X(actuator_velocity, m->nu)                                                                                        \
    X(actuator_force, m->nu)                                                                                           \
    X(act_dot, m->na)                                                                                                  \
    X(cvel, 6 * m->nbody)                                                                                              \
    X(cdof_dot, 6 * m->nv)                                                                                             \
    X(qfrc_passive, m->nv)                                                                                             \
    X(qfrc_bias, m->nv)                                                                                                \
    X(qfrc_actuator, m->nv)                                                                                            \
    X(qfrc_smooth, m->nv)                                                                                              \
    X(qacc_smooth, m->nv)                                                                                              \
    X(qacc, m->nv)                                                                                                     \
    X(qfrc_constraint, m->nv)                                                                                          \
    X(cfrc_ext, 6 * m->nbody)                                                                                          \
    X(cacc, 6 * m->nbody)                                                                                              \
    X(cfrc_int, 6 * m->nbody)                                                                                          \
    X(subtree_linvel, 3 * m->nbody)                                                                                    \
    X(subtree_angmom, 3 * m->nbody)                                                                                    \
    X(sensordata, m->nsensordata)

#define BE_PHYSICS_ARRAY_ENUM(name, count) BE_ARRAY_##name,
enum { BE_PHYSICS_ARRAYS(BE_PHYSICS_ARRAY_ENUM) BE_PHYSICS_NUM_ARRAYS };
extern const char *const be_physics_array_names[BE_PHYSICS_NUM_ARRAYS];
int64_t be_physics_array_size(const be_physics_model *m, int array);

/* ---- steps ------------------------------------------------------------------------------------------- */

/* What lanes may want from the caller in an evaluation of their accelerations. */
enum {
    BE_WANTS_LIMITS = 1,   /* some joint is at a limit */
    BE_WANTS_CONTACTS = 2, /* some geoms may touch */
    BE_WANTS_FORCES = 4,   /* cfrc_ext, of contacts */
    BE_WANTS_SENSORS = 8,  /* sensordata of BE_SENSOR_TOUCH and BE_SENSOR_CONTACT */
};

/* Why the caller was asked for a lane's constraints. */
enum {
    BE_LEFT_ALWAYS,  /* the model has constraints that are not made here, at any time */
    BE_LEFT_SOLVER,  /* it has a solver, or settings, that are not here */
    BE_LEFT_PAIRS,   /* geoms came near each other whose contacts are not found here */
    BE_LEFT_TENDONS, /* a tendon was at its limit */
    BE_LEFT_ROWS,    /* there were more than num_rows rows, or num_called contacts */
    BE_LEFT_ISLANDS, /* trees of joints move together, and others are between them */
    BE_LEFT_CHAINS,  /* with sparse matrices, a row moved joints of several chains */
    BE_LEFT_PLACES,  /* a capsule's axis was only a point */
    BE_LEFT_EDGES,   /* geoms were just as far apart as they may be for a contact */
    BE_LEFT_HESSIAN, /* the solver's Hessian was singular */
    BE_LEFT_SENSORS, /* there are sensors of contacts that only the caller knows */
    BE_LEFT_CAUSES
};
extern const char *const be_physics_left_texts[BE_LEFT_CAUSES]; /* what users are told */

typedef struct be_physics_group be_physics_group; /* the arrays of a group: see group.h */

/* Has the constraints of one lane of a group solved: reads the arrays of this lane (be_physics_isa.read), and writes
 * qacc and qfrc_constraint and, as `wants` says, cfrc_ext and sensordata. Returns 0 if it cannot: then the lane is left
 * out.
 */
typedef int be_physics_constrain(void *context, be_physics_group *group, int lane, int wants);

/* A contact, as MuJoCo's functions for pairs of shapes leave it (mjPreContact). */
typedef struct be_physics_contact {
    double dist, pos[3], normal[3], tangent[3];
} be_physics_contact;

/* Has contacts of two geoms of a lane found: BE_MOST_CONTACTS at most. places: position (3) and orientation (9) of the
 * first geom, then of the second one. margin: how far apart their surfaces may be. Returns how many there are, or -1 if
 * it cannot: then the lane is left out. */
typedef int be_physics_look_for(void *context, int lane, const int32_t *geoms, const double *places, double margin,
                                be_physics_contact *found);
/* Has the sensors of one lane computed that depend on positions and velocities only. Returns its sensordata, of which
 * those of sensor_kind -2 are read before the next call, or NULL if it cannot: then the lane is left out. */
typedef const double *be_physics_sense(void *context, be_physics_group *group, int lane);
/* MuJoCo's functions of one lane's numbers, for what is rare. */
typedef struct be_physics_functions {
    double (*mju_rayGeom)(const double *pos, const double *mat, const double *size, const double *point,
                          const double *direction, int type, double *normal);
    double (*mju_wrap)(double *touching, const double *from, const double *to, const double *pos, const double *mat,
                       double radius, int type, const double *side); /* from 3.16 on */
} be_physics_functions;

/* A step of an env: `steps` steps of MuJoCo for `count` lanes (BE_PHYSICS_LANES at most). Each lane has its own row of
 * floats, which may be the same. The caller has filled in qpos, qvel, act, ctrl, qacc_warmstart, mocap_pos and
 * mocap_quat and, with `pushed`, qfrc_applied and xfrc_applied, which are 0 otherwise; after the step, all arrays are
 * as in mjData.
 */
typedef struct be_physics_job {
    int count;
    const double *floats[BE_PHYSICS_LANES];
    int64_t steps;
    double time[BE_PHYSICS_LANES]; /* each lane's, at the start */
    int forces;                    /* 1: cfrc_ext is wanted, as mj_rnePostConstraint computes it after the step */
    int body_forces;               /* 1: cacc and cfrc_int are, too */
    int accelerations;             /* 1: cacc is */
    int sensors;                   /* 1: sensordata, or what belongs to it, is */
    int pushed;                    /* 1: qfrc_applied and xfrc_applied are given */
    int fresh;                     /* 1: arrays are wanted as mj_step1 computes them after the step */
    const be_physics_functions *functions;
    be_physics_constrain *constrain;
    be_physics_look_for *collide; /* for pairs with BE_OWN_CALLED */
    be_physics_sense *sense;
    void *context;
    /* Called before each of the steps, from 0 on. Returns whether it has written other controls. */
    int (*before_step)(void *context, be_physics_group *group, int64_t step);
    /* If it is there: called after the steps, to write positions, after which arrays are wanted as with
     * `fresh`. */
    void (*pin)(void *context, be_physics_group *group);
    /* Set: lanes that must be stepped by mj_step, from where they were, because they have bad numbers (of which MuJoCo
     * would warn), or because of `constrain`. */
    unsigned failed;
    /* Set: how many rows of constraints each lane had, in all evaluations together; in how many evaluations `collide`
     * was called; and in how many the caller solved its constraints, by cause. */
    int rows[BE_PHYSICS_LANES], called[BE_PHYSICS_LANES];
    int left[BE_PHYSICS_LANES][BE_LEFT_CAUSES];
    int noted; /* whether there was any evaluation of the latter kind */
} be_physics_job;

/* In which order PGS visits `count` rows in its sweep `sweep` (from 0): BE_PGS_ROWS rows and BE_MAX_SWEEPS at most. */
const uint8_t *be_physics_visits(int count, int sweep);

typedef struct be_physics_isa {
    const char *name;
    int lanes; /* of a group */
    /* Memory for a group, on cache lines of its own: bytes, then what makes a group of such memory. */
    size_t (*bytes)(const be_physics_model *model);
    be_physics_group *(*make)(const be_physics_model *model, void *memory);
    /* Copies array `array` (BE_ARRAY_...) of one lane out of a group, or into it. */
    void (*read)(const be_physics_group *group, int array, int lane, double *values);
    void (*write)(be_physics_group *group, int array, int lane, const double *values);
    void (*step)(be_physics_group *group, be_physics_job *job);
} be_physics_isa;

/* The one of an instruction set, by the name that be_isa has; NULL if there is none. */
const be_physics_isa *be_physics_named(const char *name);

#endif
