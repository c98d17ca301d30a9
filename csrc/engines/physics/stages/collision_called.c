/* Contacts that MuJoCo's function for two shapes finds, in one lane after the other. */
#include "engines/physics/stages/collision.h"

enum { POSITION = 3, ORIENTATION = 9, PLACE = POSITION + ORIENTATION };

static void read_places(double *places, const be_physics_group *g, int pair, int lane) {
    for (int side = 0; side < 2; side++, places += PLACE) {
        const int geom = g->m->pair_geoms[2 * pair + side];
        const double *position = (const double *)(g->geom_xpos + POSITION * geom) + lane;
        const double *orientation = (const double *)(g->geom_xmat + ORIENTATION * geom) + lane;
        for (int i = 0; i < POSITION; i++) places[i] = position[i * BE_VL];
        for (int i = 0; i < ORIENTATION; i++) places[POSITION + i] = orientation[i * BE_VL];
    }
}

static void put(be_physics_group *g, int k, int lane, const be_physics_contact *contact) {
    ((be_vl *)g->contact_found)[k] |= be_lanes_of(1u << lane);
    ((double *)&g->contact_dist[k])[lane] = contact->dist;
    for (int i = 0; i < 3; i++) {
        ((double *)&g->contact_pos[3 * k + i])[lane] = contact->pos[i];
        ((double *)&g->contact_frame[9 * k + i])[lane] = contact->normal[i];
        ((double *)&g->contact_frame[9 * k + 3 + i])[lane] = contact->tangent[i];
    }
}

be_vl BE_PHYSICS_LOOK_NAME(called)(be_physics_group *g, int pair, int first) {
    const int wide = g->wide, room = (int)g->m->num_candidates - first;
    const be_vd begin = BE_PAIR(BEGIN, pair, 0);
    be_vl all = be_lane_numbers() < 0;
    int most = 0, compared = 0;
    unsigned apart = 0;
    for (unsigned left = be_physics_pair_near(g, pair) & g->present & ~g->left; left; left &= left - 1) {
        const int lane = __builtin_ctz(left);
        double places[2 * PLACE];
        be_physics_contact found[BE_MOST_CONTACTS];
        read_places(places, g, pair, lane);
        const int count = g->job->collide(g->job->context, lane, g->m->pair_geoms + 2 * pair, places,
                                          ((const double *)&begin)[lane], found);
        g->called |= 1u << lane;
        if (count < 0) g->present &= ~(1u << lane);
        if (count > room) {
            g->left |= 1u << lane;
            g->crowded |= 1u << lane;
        }
        if (count <= 0 || count > room) continue;
        if (!compared) apart = be_physics_pair_apart(g, pair);
        compared = 1;
        if (apart >> lane & 1) {
            g->edges |= 1u << lane;
            g->left |= 1u << lane;
            continue;
        }
        for (; most < count; most++) ((be_vl *)g->contact_found)[first + most] = be_lane_numbers() < 0;
        for (int i = 0; i < count; i++) put(g, first + i, lane, &found[i]);
        all |= be_lanes_of(1u << lane);
    }
    for (int k = first; k < first + most; k++) make_frame(g->contact_frame + 9 * k, g->contact_frame + 9 * k + 3);
    g->num_called += most;
    return all;
}
