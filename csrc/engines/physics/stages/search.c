/* PrimalSearch: the minimum of the cost along a line, by Newton steps and, if these pass it, between two points. */
#include "engines/physics/cone.h"

/* A point on the line that is searched: how far along, and the cost there with its two derivatives. */
typedef struct point {
    be_vd at, cost, slope, bend;
} point;

BE_INLINE point choose(be_vl mask, point a, point b) {
    return (point){be_select(mask, a.at, b.at), be_select(mask, a.cost, b.cost), be_select(mask, a.slope, b.slope),
                   be_select(mask, a.bend, b.bend)};
}

/* What evaluate_friction needs of row k. */
static void prepare_friction(solver *s, int k) {
    const be_physics_group *g = s->g;
    const int friction = friction_of(s, k);
    const be_vd from = s->jar[k], loss = g->loss[friction], least = -0.5 * g->bound[friction];
    const sliding slides = sliding_of(s, k, from);
    s->Jv[k] = times_row(s, k, s->search);
    s->quad2[k] = g->D[k] * s->Jv[k] * s->Jv[k];
    s->base[k] = be_select(slides.below, loss * (least - from),
                           be_select(slides.above, loss * (least + from), 0.5 * g->D[k] * from * from));
}

/* The same for a row of another kind. */
static inline void prepare_row(solver *s, int k) {
    const be_vd D = s->g->D[k], pull = D * s->jar[k];
    const be_vd Jv = *s->g->m->sparse ? times_row(s, k, s->search) : be_dot(row_of(s, k), s->search, s->nv);
    s->Jv[k] = Jv;
    s->quad0[k] = s->jar[k] * pull * 0.5;
    s->quad1[k] = Jv * pull;
    s->quad2[k] = Jv * D * Jv * 0.5;
    s->base[k] = be_select(s->jar[k] < 0, s->quad0[k], be_set1(0));
}

/* Adds to p what row k, of friction loss, costs more at p->at than where the line starts, and its derivatives. */
static void evaluate_friction(const solver *s, point *p, int k) {
    const int friction = friction_of(s, k);
    const be_vd loss = s->g->loss[friction], least = -0.5 * s->g->bound[friction], D = s->g->D[k];
    const be_vd from = s->jar[k], Jv = s->Jv[k], x = from + p->at * Jv;
    const sliding at_start = sliding_of(s, k, from), slides = sliding_of(s, k, x);
    const be_vl active = is_active(s, k, x), stays_active = active & ~at_start.below & ~at_start.above;
    be_vd change =
        be_select(slides.below, loss * (least - x), be_select(slides.above, loss * (least + x), 0.5 * D * x * x));
    change -= s->base[k];
    change = be_select(stays_active, 0.5 * D * (x - from) * (x + from), change);
    change = be_select(slides.below & at_start.below, loss * (from - x), change);
    change = be_select(slides.above & at_start.above, loss * (x - from), change);
    p->cost = be_select(s->exists[k], p->cost + change, p->cost);
    p->slope = be_select(active, p->slope + D * x * Jv, p->slope);
    p->slope = be_select(slides.below, p->slope + -loss * Jv, p->slope);
    p->slope = be_select(slides.above, p->slope + loss * Jv, p->slope);
    p->bend = be_select(active, p->bend + s->quad2[k], p->bend);
}

/* Adds rows k..end-1, which only push apart, to a point on the line, at `at`. */
BE_INLINE void add_rows(const solver *s, int k, int end, be_vd at, be_vd *cost, be_vd *c0, be_vd *c1, be_vd *c2) {
    for (; k < end; k++) {
        const be_vl active = pushes(s, k, s->jar[k] + at * s->Jv[k]);
        const be_vd at_start = s->base[k]; /* the row's cost where the line starts */
        *c0 = be_select(active, *c0 + (s->quad0[k] - at_start), *c0);
        *c1 = be_select(active, *c1 + s->quad1[k], *c1);
        *c2 = be_select(active, *c2 + s->quad2[k], *c2);
        *cost = be_select(s->exists[k] & ~active, *cost - at_start, *cost);
    }
}

/* Evaluates p->at in lanes `mask`. `plain` is the solver's. */
BE_INLINE void evaluate_rows(solver *s, point *p, be_vl mask, const int plain) {
    const be_vd at = p->at, zero = be_set1(0);
    const int ne = (int)s->g->m->ne, one_sided = ne + (int)s->g->m->nf;
    point sum = {at, zero, zero, zero};
    for (int k = ne; !plain && k < one_sided; k++) evaluate_friction(s, &sum, k);
    be_vd c0 = zero, c1 = s->line1, c2 = s->line2, cost = sum.cost;
    for (int k = 0; !plain && k < ne; k++) {
        c1 = be_select(s->exists[k], c1 + s->quad1[k], c1);
        c2 = be_select(s->exists[k], c2 + s->quad2[k], c2);
    }
    if (plain) add_rows(s, 0, s->rows, at, &cost, &c0, &c1, &c2);
    for (int k = one_sided; !plain && k < s->rows;) {
        int end = plain_end(s, k);
        add_rows(s, k, end, at, &cost, &c0, &c1, &c2);
        if (end < s->rows) {
            sum.cost = cost;
            be_physics_evaluate_cone(s, end, at, &sum.cost, &sum.slope, &sum.bend);
            cost = sum.cost;
            end += s->g->row_dim[end];
        }
        k = end;
    }
    cost += at * at * c2 + at * c1 + c0;
    const be_vd slope = sum.slope + (2 * at * c2 + c1);
    be_vd bend = sum.bend + 2 * c2;
    bend = be_select(bend <= 0, be_set1(BE_MINVAL), bend);
    p->cost = be_select(mask, cost, p->cost);
    p->slope = be_select(mask, slope, p->slope);
    p->bend = be_select(mask, bend, p->bend);
    s->evaluations = be_select(mask, s->evaluations + 1, s->evaluations);
}

static void evaluate(solver *s, point *p, be_vl mask) {
    if (s->plain) {
        evaluate_rows(s, p, mask, 1);
    } else {
        evaluate_rows(s, p, mask, 0);
    }
}

static be_vd newton_of(point p) { return p.at - p.slope / p.bend; }

static void settle(result *r, be_vl done, point p) {
    done &= r->going;
    r->at = be_select(done, p.at, r->at);
    r->improvement = be_select(done, -p.cost, r->improvement);
    r->going &= ~done;
}

/* Whether point b has the same sign of slope as a, and is nearer to where the slope is 0. */
static be_vl is_nearer(point a, point b) {
    return ((a.slope < 0) & (b.slope < 0) & (a.slope < b.slope)) |
           ((a.slope > 0) & (b.slope > 0) & (a.slope > b.slope));
}

/* Between p1 and p2 the slope changes sign: narrows the bracket from both sides. */
static void narrow(solver *s, result *r, point p1, point p2, be_vd most, be_vd flat) {
    point next2 = p1, next1 = {newton_of(p1), be_set1(0), be_set1(0), be_set1(1)}, middle = next1;
    evaluate(s, &next1, r->going);
    for (be_vl loop = r->going & (s->evaluations < most); be_any(loop); loop &= s->evaluations < most) {
        middle.at = be_select(loop, 0.5 * (p1.at + p2.at), middle.at);
        evaluate(s, &middle, loop);
        const point candidates[3] = {next1, next2, middle};
        point best = middle;
        be_vl found = none();
        for (int i = 0; i < 3; i++) {
            const be_vl good =
                loop & (be_abs(candidates[i].slope) < flat) & (~found | (candidates[i].cost < best.cost));
            best = choose(good, candidates[i], best);
            found |= good;
        }
        settle(r, found, best);
        loop &= ~found;
        if (!be_any(loop)) break; /* lanes that were out of evaluations before still take the better end */
        be_vl moved1 = none(), moved2 = none();
        for (int i = 0; i < 3; i++) {
            const be_vl nearer = loop & is_nearer(p1, candidates[i]);
            p1 = choose(nearer, candidates[i], p1);
            moved1 |= nearer;
        }
        if (be_any(moved1)) {
            next1.at = be_select(moved1, newton_of(p1), next1.at);
            evaluate(s, &next1, moved1);
        }
        for (int i = 0; i < 3; i++) {
            const be_vl nearer = loop & is_nearer(p2, candidates[i]);
            p2 = choose(nearer, candidates[i], p2);
            moved2 |= nearer;
        }
        if (be_any(moved2)) {
            next2.at = be_select(moved2, newton_of(p2), next2.at);
            evaluate(s, &next2, moved2);
        }
        const be_vl stuck = loop & ~(moved1 | moved2);
        settle(r, stuck, middle);
        loop &= ~stuck;
    }
    /* Too many evaluations: the better end, if it is better than the start. */
    const be_vl one = (p1.cost <= p2.cost) & (p1.cost < 0), two = ~one & (p2.cost <= p1.cost) & (p2.cost < 0);
    settle(r, one, p1);
    settle(r, two, p2);
    r->at = be_select(r->going, be_set1(0), r->at);
}

result be_physics_search_line(solver *s, be_vl going) {
    be_physics_group *g = s->g;
    const double *of_model = g->floats;
    const be_vd length = be_sqrt(be_dot(s->search, s->search, s->nv));
    const be_vd flat = s->tolerance * of_model[g->m->at.opt_ls_tolerance] * length / s->scale;
    const be_vd most = be_set1(*g->m->opt_ls_iterations), zero = be_set1(0);
    result r = {going & ~(length < BE_MINVAL), zero, zero};
    s->evaluations = zero;
    s->line1 = be_dot(s->search, s->Ma, s->nv) - be_dot(s->qfrc_smooth, s->search, s->nv);
    s->line2 = 0.5 * be_dot(s->search, s->Mv, s->nv);
    const int ne = (int)g->m->ne, nf = (int)g->m->nf;
    for (int k = ne; k < ne + nf; k++) prepare_friction(s, k);
    for (int k = 0; k < ne; k++) prepare_row(s, k);
    for (int k = ne + nf; k < s->rows; k++) prepare_row(s, k);
    for (int k = 0; *g->m->opt_cone && k < s->rows; k += g->row_dim[k]) {
        if (g->row_dim[k] > 1) prepare_cone(s, k);
    }
    point start = {zero, zero, zero, be_set1(1)}, p1 = start;
    evaluate(s, &start, r.going);
    p1.at = newton_of(start);
    evaluate(s, &p1, r.going);
    settle(&r, (be_abs(p1.slope) < flat) & ((p1.at == 0) | (p1.cost < 0)), p1);
    if (!be_any(r.going)) return r;
    const be_vd direction = be_select(p1.slope < 0, be_set1(1), be_set1(-1));
    point p2 = start;
#define ON_THIS_SIDE (r.going & (p1.slope * direction <= -flat) & (s->evaluations < most))
    for (be_vl loop = ON_THIS_SIDE; be_any(loop); loop &= ON_THIS_SIDE) {
        p2 = choose(loop, p1, p2);
        p1.at = be_select(loop, newton_of(p1), p1.at);
        evaluate(s, &p1, loop);
        settle(&r, loop & (be_abs(p1.slope) < flat) & (p1.cost < 0), p1);
    }
#undef ON_THIS_SIDE
    settle(&r, s->evaluations >= most, p1);
    if (be_any(r.going)) narrow(s, &r, p1, p2, most, flat);
    return r;
}
