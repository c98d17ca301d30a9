/* Forces of springs and dampers, which may be polynomials. */
#ifndef BE_PHYSICS_POLYNOMIALS_H
#define BE_PHYSICS_POLYNOMIALS_H

#include "engines/physics/group.h"

/* mju_polyForce: -x times this is the force. `poly`: BE_POLY numbers. */
BE_INLINE be_vd be_poly_force(be_vd linear, const be_vd *poly, be_vd x) {
    return linear + poly[0] * x + poly[1] * (x * x);
}
/* mjd_xPolyForce: the derivative of x times that. */
BE_INLINE be_vd be_poly_slope(be_vd linear, const be_vd *poly, be_vd x) {
    return linear + 2 * poly[0] * x + 3 * poly[1] * (x * x);
}

/* What number `index` of `name` comes to at x, with the coefficients `name`poly, if the model has such (`which`:
 * BE_POLY_...). `part`: force or slope. The caller's variable `polynomials` is the model's. */
#define BE_POLY_OF(part, name, which, index, x)                                                                        \
    (polynomials & (which)                                                                                             \
         ? be_poly_##part(                                                                                             \
               BE_K(name, index),                                                                                      \
               (be_vd[BE_POLY]){BE_K(name##poly, BE_POLY * (index)), BE_K(name##poly, BE_POLY * (index) + 1)}, x)      \
         : BE_K(name, index))

/* Whether there is such a spring or damper. */
#define BE_HAS_POLY(name, which, index)                                                                                \
    (BE_K1(name, index) != 0 || (polynomials & (which) && (BE_K1(name##poly, BE_POLY * (index)) != 0 ||                \
                                                           BE_K1(name##poly, BE_POLY * (index) + 1) != 0)))

#endif
