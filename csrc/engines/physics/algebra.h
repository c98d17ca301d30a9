/* Vectors of three, quaternions, matrices and spatial vectors, for BE_VL lanes at once, with MuJoCo's order of sums.
 *
 * MuJoCo 4 adds up some of them in another order: `version` (major * 1000 + minor) chooses. */
#ifndef BE_PHYSICS_ALGEBRA_H
#define BE_PHYSICS_ALGEBRA_H

#include "exact_math.h"

#define BE_MINVAL 1e-15 /* mjMINVAL */

BE_INLINE void be_copy(be_vd *to, const be_vd *from, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] = from[i];
}
BE_INLINE void be_zero(be_vd *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) v[i] = be_set1(0);
}
BE_INLINE void be_add_to(be_vd *to, const be_vd *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) to[i] += v[i];
}
BE_INLINE void be_sub3(be_vd *to, const be_vd *a, const be_vd *b) {
    for (int i = 0; i < 3; i++) to[i] = a[i] - b[i];
}
BE_INLINE be_vd be_dot3(const be_vd *a, const be_vd *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
BE_INLINE void be_cross(be_vd *to, const be_vd *a, const be_vd *b) {
    const be_vd x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    to[0] = x, to[1] = y, to[2] = z;
}

/* mju_dot of n + 1 numbers: four partial sums, and then the rest. The last product is given, since what it is made of
 * may have just been computed: a detour through memory would keep those waiting who compute one number after the other.
 */
BE_INLINE be_vd be_dot_and(const be_vd *a, const be_vd *b, int64_t n, be_vd last) {
    const int64_t whole = n / 4 * 4, rest = n - whole;
    be_vd s0 = be_set1(0), s1 = s0, s2 = s0, s3 = s0;
    if (whole) s0 = a[0] * b[0], s1 = a[1] * b[1], s2 = a[2] * b[2], s3 = a[3] * b[3];
    for (int64_t i = 4; i < whole; i += 4) {
        s0 += a[i] * b[i];
        s1 += a[i + 1] * b[i + 1];
        s2 += a[i + 2] * b[i + 2];
        s3 += a[i + 3] * b[i + 3];
    }
    a += whole, b += whole;
    const be_vd sum = (s0 + s2) + (s1 + s3);
    if (rest == 0) return sum + last;
    if (rest == 1) return sum + (a[0] * b[0] + last);
    if (rest == 2) return sum + (a[0] * b[0] + a[1] * b[1] + last);
    if (!whole) return (a[0] * b[0] + a[2] * b[2]) + (a[1] * b[1] + last); /* adding 0 would turn -0 into 0 */
    return ((s0 + a[0] * b[0]) + (s2 + a[2] * b[2])) + ((s1 + a[1] * b[1]) + (s3 + last));
}
BE_INLINE be_vd be_dot(const be_vd *a, const be_vd *b, int64_t n) {
    return n ? be_dot_and(a, b, n - 1, a[n - 1] * b[n - 1]) : be_set1(0);
}

/* mju_dotSparse: the same with an index, and the rest one by one. */
BE_INLINE be_vd be_dot_sparse(const be_vd *a, const be_vd *b, int n, const int32_t *index) {
    be_vd sum = be_set1(0);
    int i = 0;
    if (n >= 4) {
        be_vd s0 = a[0] * b[index[0]], s1 = a[1] * b[index[1]], s2 = a[2] * b[index[2]], s3 = a[3] * b[index[3]];
        for (i = 4; i + 4 <= n; i += 4) {
            s0 += a[i] * b[index[i]];
            s1 += a[i + 1] * b[index[i + 1]];
            s2 += a[i + 2] * b[index[i + 2]];
            s3 += a[i + 3] * b[index[i + 3]];
        }
        sum = (s0 + s2) + (s1 + s3);
    }
    for (; i < n; i++) sum += a[i] * b[index[i]];
    return sum;
}

/* ---- rotations --------------------------------------------------------------------------------------- */

BE_INLINE void be_mul_mat_vec3(be_vd *to, const be_vd *matrix, const be_vd *v) {
    const be_vd x = be_dot3(matrix, v), y = be_dot3(matrix + 3, v), z = be_dot3(matrix + 6, v);
    to[0] = x, to[1] = y, to[2] = z;
}
BE_INLINE void be_mul_mat_t_vec3(be_vd *to, const be_vd *matrix, const be_vd *v) {
    be_vd r[3];
    for (int i = 0; i < 3; i++) r[i] = matrix[i] * v[0] + matrix[3 + i] * v[1] + matrix[6 + i] * v[2];
    to[0] = r[0], to[1] = r[1], to[2] = r[2];
}
BE_INLINE be_vl be_is_null_quat(const be_vd *q) { return (q[0] == 1) & (q[1] == 0) & (q[2] == 0) & (q[3] == 0); }

BE_INLINE void be_rot_vec_quat(be_vd *to, const be_vd *v, const be_vd *q) {
    const be_vd t[3] = {q[0] * v[0] + q[2] * v[2] - q[3] * v[1], q[0] * v[1] + q[3] * v[0] - q[1] * v[2],
                        q[0] * v[2] + q[1] * v[1] - q[2] * v[0]};
    const be_vl null = be_is_null_quat(q);
    const be_vd x = v[0] + 2 * (q[2] * t[2] - q[3] * t[1]), y = v[1] + 2 * (q[3] * t[0] - q[1] * t[2]);
    const be_vd z = v[2] + 2 * (q[1] * t[1] - q[2] * t[0]);
    to[0] = be_select(null, v[0], x), to[1] = be_select(null, v[1], y), to[2] = be_select(null, v[2], z);
}

BE_INLINE void be_mul_quat(be_vd *to, const be_vd *a, const be_vd *b, int version) {
    be_vd r[4];
    if (version >= 4000) {
        r[0] = (a[0] * b[0] - a[1] * b[1]) + (-a[2] * b[2] + -a[3] * b[3]);
        r[1] = (a[0] * b[1] + a[1] * b[0]) + (a[2] * b[3] + -a[3] * b[2]);
        r[2] = (a[0] * b[2] - a[1] * b[3]) + (a[2] * b[0] + a[3] * b[1]);
        r[3] = (a[0] * b[3] + a[1] * b[2]) + (-a[2] * b[1] + a[3] * b[0]);
    } else {
        r[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
        r[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
        r[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
        r[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    }
    be_copy(to, r, 4);
}

/* mju_mulQuatAxis: times a quaternion of which v is the last three numbers, and the first one is 0. */
BE_INLINE void be_mul_quat_axis(be_vd *to, const be_vd *q, const be_vd *v, int version) {
    to[0] = -q[1] * v[0] - q[2] * v[1] - q[3] * v[2];
    to[2] = q[0] * v[1] + q[3] * v[0] - q[1] * v[2];
    if (version >= 4000) {
        to[1] = q[0] * v[0] - q[3] * v[1] + q[2] * v[2];
        to[3] = q[1] * v[1] - q[2] * v[0] + q[0] * v[2];
    } else {
        to[1] = q[0] * v[0] + q[2] * v[2] - q[3] * v[1];
        to[3] = q[0] * v[2] + q[1] * v[1] - q[2] * v[0];
    }
}
BE_INLINE void be_neg_quat(be_vd *to, const be_vd *q) {
    to[0] = q[0];
    for (int k = 1; k < 4; k++) to[k] = -q[k];
}

BE_INLINE void be_normalize4(be_vd *q, int version) {
    const be_vd squares = version >= 4000 ? (q[0] * q[0] + q[1] * q[1]) + (q[2] * q[2] + q[3] * q[3])
                                          : q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    const be_vd norm = be_sqrt(squares), inverse = 1 / norm;
    const be_vl tiny = norm<BE_MINVAL, off = be_abs(norm - 1)> BE_MINVAL;
    for (int i = 0; i < 4; i++) {
        q[i] = be_select(off, q[i] * inverse, q[i]);
        q[i] = be_select(tiny, be_set1(i == 0), q[i]);
    }
}

BE_INLINE void be_axis_angle_quat(be_vd *q, const be_vd *axis, be_vd angle) {
    be_vd sine, cosine;
    be_sincos(angle * 0.5, &sine, &cosine);
    const be_vl still = angle == 0;
    q[0] = be_select(still, be_set1(1), cosine);
    for (int i = 0; i < 3; i++) q[1 + i] = be_select(still, be_set1(0), axis[i] * sine);
}

BE_INLINE void be_quat_mat(be_vd *matrix, const be_vd *q, int version) {
    const be_vd q00 = q[0] * q[0], q01 = q[0] * q[1], q02 = q[0] * q[2], q03 = q[0] * q[3], q11 = q[1] * q[1];
    const be_vd q12 = q[1] * q[2], q13 = q[1] * q[3], q22 = q[2] * q[2], q23 = q[2] * q[3], q33 = q[3] * q[3];
    const be_vl null = be_is_null_quat(q);
    if (version >= 4000) {
        matrix[0] = (q00 - q22) + (q11 - q33);
        matrix[4] = (q00 + q22) - (q11 + q33);
        matrix[8] = (q00 - q22) - (q11 - q33);
    } else {
        matrix[0] = q00 + q11 - q22 - q33;
        matrix[4] = q00 - q11 + q22 - q33;
        matrix[8] = q00 - q11 - q22 + q33;
    }
    matrix[1] = 2 * (q12 - q03), matrix[2] = 2 * (q13 + q02), matrix[3] = 2 * (q12 + q03);
    matrix[5] = 2 * (q23 - q01), matrix[6] = 2 * (q13 - q02), matrix[7] = 2 * (q23 + q01);
    for (int i = 0; i < 9; i++) matrix[i] = be_select(null, be_set1(i % 4 == 0), matrix[i]);
}

/* mju_normalize3: returns the norm; what is shorter than BE_MINVAL becomes (1, 0, 0). */
BE_INLINE be_vd be_normalize3(be_vd *v) {
    const be_vd norm = be_sqrt(be_dot3(v, v)), inverse = 1 / norm;
    const be_vl tiny = norm < BE_MINVAL;
    for (int i = 0; i < 3; i++) v[i] = be_select(tiny, be_set1(i == 0), v[i] * inverse);
    return norm;
}

/* mju_quat2Vel for a time of 1: the turn of a quaternion, as an axis times an angle of pi at most. */
BE_INLINE void be_quat_turn(be_vd *to, const be_vd *q) {
    const double pi = 3.14159265358979323846;
    be_vd axis[3], angle = q[0];
    be_copy(axis, q + 1, 3);
    const be_vd sine = be_normalize3(axis);
    for (int lane = 0; lane < BE_VL; lane++) angle[lane] = 2 * be_math.atan2(sine[lane], q[0][lane]);
    angle = be_select(angle > pi, angle - 2 * pi, angle);
    for (int k = 0; k < 3; k++) to[k] = axis[k] * angle;
}
/* mju_negQuat */
BE_INLINE void be_turn_back(be_vd *to, const be_vd *q) {
    to[0] = q[0];
    for (int k = 1; k < 4; k++) to[k] = -q[k];
}
/* mju_subQuat: the turn from b to a. */
BE_INLINE void be_sub_quat(be_vd *to, const be_vd *a, const be_vd *b, int version) {
    be_vd back[4], between[4];
    be_turn_back(back, b);
    be_mul_quat(between, back, a, version);
    be_quat_turn(to, between);
}

/* ---- spatial vectors --------------------------------------------------------------------------------- */

BE_INLINE void be_cross_motion(be_vd *to, const be_vd *e, const be_vd *v) {
    const be_vd a = -e[2] * v[4] + e[1] * v[5], b = e[2] * v[3] - e[0] * v[5], c = -e[1] * v[3] + e[0] * v[4];
    const be_vd x = -e[2] * v[1] + e[1] * v[2], y = e[2] * v[0] - e[0] * v[2], z = -e[1] * v[0] + e[0] * v[1];
    to[3] = a + (-e[5] * v[1] + e[4] * v[2]);
    to[4] = b + (e[5] * v[0] - e[3] * v[2]);
    to[5] = c + (-e[4] * v[0] + e[3] * v[1]);
    to[0] = x, to[1] = y, to[2] = z;
}
BE_INLINE void be_cross_force(be_vd *to, const be_vd *e, const be_vd *f) {
    const be_vd a = -e[2] * f[1] + e[1] * f[2], b = e[2] * f[0] - e[0] * f[2], c = -e[1] * f[0] + e[0] * f[1];
    to[0] = a + (-e[5] * f[4] + e[4] * f[5]);
    to[1] = b + (e[5] * f[3] - e[3] * f[5]);
    to[2] = c + (-e[4] * f[3] + e[3] * f[4]);
    to[3] = -e[2] * f[4] + e[1] * f[5];
    to[4] = e[2] * f[3] - e[0] * f[5];
    to[5] = -e[1] * f[3] + e[0] * f[4];
}
BE_INLINE be_vl be_not_zero6(const be_vd *v) {
    return (v[0] != 0) | (v[1] != 0) | (v[2] != 0) | (v[3] != 0) | (v[4] != 0) | (v[5] != 0);
}
BE_INLINE be_vd be_dot6(const be_vd *a, const be_vd *b) {
    return ((a[0] * b[0] + a[2] * b[2]) + (a[1] * b[1] + a[3] * b[3])) + (a[4] * b[4] + a[5] * b[5]);
}
BE_INLINE void be_mul_inert_vec(be_vd *to, const be_vd *i, const be_vd *v) {
    to[0] = i[0] * v[0] + i[3] * v[1] + i[4] * v[2] - i[8] * v[4] + i[7] * v[5];
    to[1] = i[3] * v[0] + i[1] * v[1] + i[5] * v[2] + i[8] * v[3] - i[6] * v[5];
    to[2] = i[4] * v[0] + i[5] * v[1] + i[2] * v[2] - i[7] * v[3] + i[6] * v[4];
    to[3] = i[8] * v[1] - i[7] * v[2] + i[9] * v[3];
    to[4] = i[6] * v[2] - i[8] * v[0] + i[9] * v[4];
    to[5] = i[7] * v[0] - i[6] * v[1] + i[9] * v[5];
}
/* mj_applyFT: adds what a force and a torque, which act `offset` away from the tree's centre of mass, do along a degree
 * of freedom. */
BE_INLINE be_vd be_pushed(be_vd sum, const be_vd *dof, const be_vd *offset, const be_vd *force, const be_vd *torque) {
    be_vd swing[3], by_force = be_set1(0), by_torque = by_force;
    be_cross(swing, dof, offset);
    for (int k = 0; k < 3; k++) {
        by_force += (dof[3 + k] + swing[k]) * force[k];
        by_torque += dof[k] * torque[k];
    }
    return sum + by_force + by_torque;
}
/* mju_mulDofVec: the motion that n degrees of freedom make together. */
BE_INLINE void be_mul_dof_vec(be_vd *to, const be_vd *dofs, const be_vd *v, int n) {
    if (n == 1) {
        for (int k = 0; k < 6; k++) to[k] = dofs[k] * v[0];
        return;
    }
    be_zero(to, 6);
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < 6; k++) to[k] += dofs[6 * j + k] * v[j];
    }
}

#endif
