/* Impacts within a step: a body that would pass through the ground is stopped where it first touches it, and then moves
 * on for the rest of the step. */
#ifndef BOX2D_SUBSTEPS_H
#define BOX2D_SUBSTEPS_H

#include "solver.h"

#define MAX_SUBSTEPS 8

/* The ground's share of the sweeps: up to where each of its bodies has been taken. */
typedef struct ground_times {
    const plan *plan;
    float alpha0[256];
} ground_times;

static inline float *ground_time(ground_times *t, int ground) { return &t->alpha0[t->plan->one_ground ? 0 : ground]; }

/* Takes the beginning of a body's sweep to this fraction of the step. */
static inline void sweep_advance(body *b, float alpha) {
    const float beta = (alpha - b->alpha0) / (1.0f - b->alpha0);
    b->c0 = add(scale(1.0f - beta, b->c0), scale(beta, b->s.c));
    b->a0 = (1.0f - beta) * b->a0 + beta * b->s.a;
    b->alpha0 = alpha;
}

/* The fraction of the step at which a contact's body meets the ground. */
static inline float contact_time(world *w, contact *c, ground_times *times) {
    body *b = &w->body[c->body];
    float *ground_alpha = ground_time(times, c->ground);
    const float alpha0 = max_f(*ground_alpha, b->alpha0);
    if (b->alpha0 < alpha0) sweep_advance(b, alpha0);
    *ground_alpha = alpha0;
    const sweep s = sweep_of(b);
    const shape ground = w->plan->ground(w, c->ground);
    const mover still = {.shape = &ground};
    const mover moving = {&w->plan->shape[c->body], &s, w->mass[c->body].center};
    const int first = ground.count > 2 && body_is_first(w, c);
    const float beta = time_of_impact(first ? moving : still, first ? still : moving);
    return beta < 1.0f ? min_f(alpha0 + (1.0f - alpha0) * beta, 1.0f) : 1.0f;
}

/* What a round may change of a contact and its body, in the first lane. */
static inline void read_state(const contact_lanes *k, const velocity *v, float out[7]) {
    for (int j = 0; j < 2; j++) {
        out[2 * j] = PUT(k->point[j].normal, 0);
        out[2 * j + 1] = PUT(k->point[j].tangent, 0);
    }
    out[4] = v->x[0];
    out[5] = v->y[0];
    out[6] = v->w[0];
}

/* Moves a body on from the impact, with the contacts of the island. */
static inline void substep(world *w, solver *s, contact *const *island, int count, float alpha) {
    const int index = island[0]->body;
    body *b = &w->body[index];
    const mass *m = &w->mass[index];
    const mass_lanes masses = {vf_set1(m->inverse), vf_set1(m->inverse_inertia)};
    vec2 c = b->s.c;
    float a = b->s.a;
    for (int round = 0; round < 20; round++) {
        float smallest = 0.0f;
        for (int i = 0; i < count; i++) smallest = min_f(smallest, push_out(w, island[i], &c, &a, 0.75f));
        if (smallest >= -1.5f * LINEAR_SLOP) break;
    }
    b->c0 = c;
    b->a0 = a;
    const rotation q = b->q0 = rotation_by(a);
    int two = 0;
    velocity v = {vf_set1(b->s.v.x), vf_set1(b->s.v.y), vf_set1(b->s.w)};
    for (int i = 0; i < count; i++) {
        memset(&s->contact[i], 0, sizeof s->contact[i]);
        two |= contact_prepare(w, island[i], mixed_friction(w, island[i]), c, q, 0, &s->contact[i], 0) == 2;
    }
    for (int round = 0, same = 0; round < VELOCITY_ROUNDS && !same; round++) {
        same = 1; /* a round that changes nothing would be followed by others like it */
        for (int i = 0; i < count; i++) {
            float before[7], after[7];
            read_state(&s->contact[i], &v, before);
            contact_solve(&s->contact[i], &v, &masses, two);
            read_state(&s->contact[i], &v, after);
            same &= memcmp(before, after, sizeof before) == 0;
        }
    }
    b->s.v = (vec2){v.x[0], v.y[0]};
    b->s.w = v.w[0];
    advance(&c, &a, &b->s.v, &b->s.w, (1.0f - alpha) * TIME_STEP);
    b->s.c = c;
    b->s.a = a;
    place_body(b, m);
}

/* Handles the impacts of a step, the earliest first. `s` is overwritten. */
static inline void solve_impacts(world *w, solver *s) {
    if (w->contacts == 0) return;
    ground_times times = {.plan = w->plan};
    for (int b = 0; b < w->plan->bodies; b++) w->body[b].alpha0 = 0.0f;
    for (int i = 0; i < w->contacts; i++) w->contact[i].has_toi = w->contact[i].toi_count = 0;
    for (;;) {
        contact *first = NULL;
        float alpha = 1.0f;
        for (int i = w->contacts - 1; i >= 0; i--) {
            contact *c = &w->contact[i];
            if (!c->enabled || c->toi_count > MAX_SUBSTEPS) continue;
            if (!c->has_toi) {
                if (!w->body[c->body].awake) continue;
                c->toi = contact_time(w, c, &times);
                c->has_toi = 1;
            }
            if (c->toi < alpha) {
                first = c;
                alpha = c->toi;
            }
        }
        if (first == NULL || 1.0f - 10.0f * FLT_EPSILON < alpha) return;

        body *b = &w->body[first->body];
        const body before = *b;
        float *ground_alpha = ground_time(&times, first->ground);
        const float ground_before = *ground_alpha;
        sweep_advance(b, alpha);
        b->s.c = b->c0;
        b->s.a = b->a0;
        place_body(b, &w->mass[first->body]);
        *ground_alpha = alpha;
        contact_update(w, first);
        first->has_toi = 0;
        first->toi_count++;
        if (first->m.count == 0) {
            first->enabled = 0;
            b->c0 = before.c0;
            b->a0 = before.a0;
            b->alpha0 = before.alpha0;
            b->s.c = before.s.c;
            b->s.a = before.s.a;
            b->s.xf = before.s.xf;
            *ground_alpha = ground_before;
            continue;
        }
        wake(b);
        contact *island[MAX_CONTACTS] = {first};
        int count = 1;
        for (int i = w->contacts - 1; i >= 0; i--) {
            contact *c = &w->contact[i];
            if (c->body != first->body || c == first) continue;
            float *other = ground_time(&times, c->ground);
            const float other_before = *other;
            *other = alpha;
            contact_update(w, c);
            if (c->m.count == 0) {
                *other = other_before;
            } else {
                island[count++] = c;
            }
        }
        substep(w, s, island, count, alpha);
        const int index = first->body;
        for (int i = 0; i < w->contacts; i++) {
            if (w->contact[i].body == index) w->contact[i].has_toi = 0;
        }
        synchronize(w, index);
        find_contacts(w);
    }
}

#endif
