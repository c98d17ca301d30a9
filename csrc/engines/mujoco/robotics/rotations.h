/* Rotations with the roundings of gymnasium-robotics, in NumPy. Quaternions are w, x, y, z. */
#ifndef BE_MUJOCO_ROTATIONS_H
#define BE_MUJOCO_ROTATIONS_H

#include "engines/mujoco/numpy_sums.h"
#include "numpy_loops.h"

#define ROTATION_EPSILON 2.220446049250313e-16

/* A matrix as rotations around x, y and z. */
static inline void rotation_euler_of_matrix(const double *mat, double *euler) {
    const double length = sqrt(mat[8] * mat[8] + mat[5] * mat[5]);
    const int regular = length > 4 * ROTATION_EPSILON;
    euler[0] = regular ? -be_numpy_arctan2(mat[5], mat[8]) : 0.0;
    euler[1] = -be_numpy_arctan2(-mat[2], length);
    euler[2] = regular ? -be_numpy_arctan2(mat[1], mat[0]) : -be_numpy_arctan2(-mat[3], mat[4]);
}

/* The same for a quaternion, which need not have length 1. */
static inline void rotation_euler(const double *quat, double *euler) {
    const double w = quat[0], x = quat[1], y = quat[2], z = quat[3];
    const double squares = w * w + x * x + y * y + z * z, s = 2.0 / squares;
    const double xs = x * s, ys = y * s, zs = z * s;
    const double mat[] = {
        1.0 - (y * ys + z * zs), x * ys - w * zs,         x * zs + w * ys, /* rows of the matrix */
        x * ys + w * zs,         1.0 - (x * xs + z * zs), y * zs - w * xs, /**/
        x * zs - w * ys,         y * zs + w * xs,         1.0 - (x * xs + y * ys),
    };
    static const double none[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    rotation_euler_of_matrix(squares > ROTATION_EPSILON ? mat : none, euler);
}

/* And back. */
static inline void rotation_of_euler(const double *euler, double *quat) {
    const double i = euler[2] / 2, j = -euler[1] / 2, k = euler[0] / 2;
    const double si = be_numpy_sin(i), sj = be_numpy_sin(j), sk = be_numpy_sin(k);
    const double ci = be_numpy_cos(i), cj = be_numpy_cos(j), ck = be_numpy_cos(k);
    quat[0] = cj * (ci * ck) + sj * (si * sk);
    quat[1] = cj * (ci * sk) - sj * (si * ck);
    quat[2] = -(cj * (si * sk) + sj * (ci * ck));
    quat[3] = cj * (si * ck) - sj * (ci * sk);
}

/* a b */
static inline void rotation_product(const double *a, const double *b, double *product) {
    const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    const double y = a[0] * b[2] + a[2] * b[0] + a[3] * b[1] - a[1] * b[3];
    const double z = a[0] * b[3] + a[3] * b[0] + a[1] * b[2] - a[2] * b[1];
    product[0] = w, product[1] = x, product[2] = y, product[3] = z;
}

/* The angle from one to the other, which are of length 1. */
static inline double rotation_angle(const double *a, const double *b) {
    const double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    return 2 * be_numpy_arccos(be_clip_one(cosine, -1, 1));
}

/* x /= np.linalg.norm(x) of n values. */
static inline void rotation_normalize(double *x, int n, int fused) {
    const double length = be_norm(x, n, fused);
    for (int k = 0; k < n; k++) x[k] /= length;
}

/* The quaternion of a rotation around an axis, which is made one of length 1. */
static inline void rotation_around(double *axis, double angle, int fused, double *quat) {
    rotation_normalize(axis, 3, fused);
    const double sine = be_numpy_sin(angle / 2);
    quat[0] = be_numpy_cos(angle / 2);
    for (int k = 0; k < 3; k++) quat[1 + k] = sine * axis[k];
    rotation_normalize(quat, 4, fused);
}

#endif
