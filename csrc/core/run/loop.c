#include "core/run/loop.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "core/batch.h"
#include "core/driver.h"
#include "core/math/fp.h"
#include "core/run/team.h"

#define LOOK_NS 50e6        /* between looks at signals */
#define ROUND_NS 20e6       /* work between two decisions about how to go on */
#define LONE_LANES 16384    /* lanes of a kernel on one thread between looks at the clock: at most, */
#define UNKNOWN_LANES 1024  /* and while it is not known what a lane takes */
#define ROLLOUT_STEPS 65536 /* about so many lane steps in a piece of a kernel's rollout: half a millisecond */
#define ROLLOUT_ROUND (4 * ROLLOUT_STEPS) /* lane steps before all threads wait for each other */
#define ROLLOUT_LEAST 16                  /* the fewest steps for which it pays to load lanes into the cache */
#define PIECES 4                          /* pieces into which a thread's lanes are cut */

_Atomic int64_t be_plan_looks_after;

void be_plans_start(be_plan plans[BE_NUM_PLANS], int64_t lanes, int threads, int by_lane) {
    for (int i = 0; i < BE_NUM_PLANS; i++) be_plan_start(&plans[i], lanes, threads, by_lane);
}

static be_plan *plan_of(const be_call *c, be_plan *plans) {
    if (c->verb != BE_ROLLOUT) return &plans[c->verb];
    int length = 0;
    while (length + 1 < BE_ROLLOUT_PLANS && c->steps >> 3 * (length + 1)) length++;
    return &plans[BE_ROLLOUT + length];
}

static int num_batches(const be_call *c) { return c->parts ? c->num_parts : 1; }
static const be_batch *batch_of(const be_call *c, int k) { return c->parts ? c->parts[k].batch : c->batch; }

/* How many lanes the call is for. */
static int64_t total_of(const be_call *c) {
    if (c->verb == BE_STEP_LISTED) return c->num_listed;
    return c->parts ? c->parts[c->num_parts - 1].first + batch_of(c, c->num_parts - 1)->num_lanes : c->batch->num_lanes;
}

/* Whether each lane can be a piece of its own. */
static int by_lane(const be_call *c) {
    int found = 0;
    for (int k = 0; k < num_batches(c); k++) found |= (batch_of(c, k)->type->flags & BE_LANE_BY_LANE) != 0;
    return found;
}

/* ---- deciding --------------------------------------------------------------------------------------- */

static int64_t whole_blocks(int64_t lanes, int64_t least) {
    const int64_t block = lanes >= BE_LIST ? BE_LIST : least < 64 ? least : 64;
    lanes = (lanes + block - 1) / block * block;
    return lanes > least ? lanes : least;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* How many lanes of a kernel one thread takes at a time, so that signals are looked at in time. A reset of some lanes
 * counts what one of all has taken: it may be for few or for all. */
static int64_t lone_lanes(const be_plan plans[BE_NUM_PLANS], be_verb verb) {
    double ns = plans[verb].cost[0];
    if (verb == BE_RESET_SOME && plans[BE_RESET].cost[0] > ns) ns = plans[BE_RESET].cost[0];
    if (ns * LONE_LANES <= LOOK_NS) return ns > 0 || plans[verb].fixed ? LONE_LANES : UNKNOWN_LANES;
    return whole_blocks((int64_t)(LOOK_NS / ns), BE_PLAN_FEW_GRAIN);
}

/* Chooses how many steps of a rollout all lanes take next: so few that the pieces are short. */
static void take_steps(be_call *c) {
    const int64_t lanes = c->total, rest = c->steps - c->first_step;
    int64_t most = rest;
    if (!c->by_lane) {
        const double ns = atomic_load_explicit(&c->batch->driver->lane_ns, memory_order_relaxed);
        const int64_t soon = ns > 0 ? (int64_t)(LOOK_NS / (ns * (double)lanes)) : ROLLOUT_LEAST;
        most = ROLLOUT_ROUND / lanes > ROLLOUT_LEAST ? ROLLOUT_ROUND / lanes : ROLLOUT_LEAST;
        if (most > soon) most = soon > 1 ? soon : 1;
    } else if (c->most > 1 && !c->plan->fixed && (c->plan->trying || !c->plan->parallel)) {
        most = c->plan->trying ? 1 : ROLLOUT_LEAST;
    } else if (c->most > 1 && c->plan->cost[1] > 0) {
        /* A thread that has no lane left waits for the others, and does not look at signals meanwhile. */
        most = (int64_t)(LOOK_NS / (c->plan->cost[1] * (double)c->most));
        if (most < 1) most = 1;
    }
    c->num_steps = least(rest, most);
}

/* Shares the lanes that are left among `threads` threads. */
static void deal(be_call *c, int64_t first, int threads) {
    const int64_t lanes = c->total - first;
    const be_placement *placement = threads > 1 && first == 0 ? c->placement : NULL;
    c->num_shares = placement ? placement->num_blocks : threads < BE_MAX_NODES ? threads : BE_MAX_NODES;
    int open = 0;
    int64_t start = first;
    for (int i = 0; i < c->num_shares; i++) {
        be_share *share = &c->shares[i];
        atomic_store_explicit(&share->next, start, memory_order_relaxed);
        if (placement) {
            start = placement->blocks[i].end_lane;
        } else if (c->by_lane) {
            start = first + lanes * (i + 1) / c->num_shares;
        } else {
            int64_t unused;
            be_partition(lanes, be_plan_grain(c->plan), c->num_shares, i, &unused, &start);
            start += first;
        }
        share->end = start;
        open += atomic_load_explicit(&share->next, memory_order_relaxed) < start;
    }
    atomic_store_explicit(&c->open, open, memory_order_relaxed);
}

static int resets(const be_call *c) { return c->verb == BE_RESET || c->verb == BE_RESET_SOME; }

/* Whether the lanes of a batch are stepped ahead, or begin their episodes together. */
static int is_ahead(const be_call *c, const be_batch *batch) {
    return resets(c) ? batch->driver->starting != NULL : batch->driver->ahead != NULL && c->verb != BE_SEED;
}

/* How many lanes of a batch are best in a piece; signals are to be looked at in time. */
static int64_t lanes_ahead(const be_call *c, const be_batch *batch) {
    const struct be_driver *driver = batch->driver;
    if (!is_ahead(c, batch)) return 1;
    if (resets(c)) return driver->group;
    const double ns = atomic_load_explicit(&driver->lane_ns, memory_order_relaxed);
    if (ns > 0 && ns * (double)driver->together <= LOOK_NS) return driver->together;
    const int64_t lanes = ns > 0 ? (int64_t)(LOOK_NS / ns) : 0;
    return lanes > driver->group ? lanes : driver->group;
}

static void choose_grain(be_call *c) {
    if (c->by_lane) {
        const int64_t share = (c->total + c->threads - 1) / c->threads;
        c->grain = share;
        for (int k = 0; k < num_batches(c); k++) {
            const int64_t lanes = lanes_ahead(c, batch_of(c, k));
            c->grain = least(c->grain, c->parts ? least(lanes, batch_of(c, k)->num_lanes) : lanes);
        }
        return;
    }
    c->grain = c->verb == BE_ROLLOUT ? whole_blocks(ROLLOUT_STEPS / c->num_steps, BE_LIST) : c->lone;
    if (c->threads > 1)
        c->grain = least(c->grain, whole_blocks(c->total / (c->threads * PIECES), be_plan_grain(c->plan)));
}

void be_call_begin(be_call *c, be_plan plans[BE_NUM_PLANS], int threads, be_pool *pool) {
    c->by_lane = by_lane(c);
    c->total = total_of(c);
    c->plan = plan_of(c, plans);
    c->lone = c->verb == BE_ROLLOUT ? 0 : lone_lanes(plans, c->verb);
    c->pool = pool;
    c->most = threads < c->plan->threads ? threads : c->plan->threads;
    c->timed = c->most > 1 && !c->plan->fixed;
    c->placement = pool && !c->parts && c->verb != BE_STEP_LISTED ? be_batch_placement(c->batch) : NULL;
    c->num_steps = 1;
}

/* Notes what the round that is over has cost. */
static void account(be_call *c) {
    const int64_t done = atomic_load_explicit(&c->done, memory_order_relaxed);
    c->left -= done;
    atomic_store_explicit(&c->done, 0, memory_order_relaxed);
    if (c->timed && !c->stopped) {
        be_plan_note(c->plan, c->threads > 1, (double)(done * c->num_steps), be_now_ns() - c->start);
    }
}

static int look(be_call *c, double now) {
    c->next_look = now + LOOK_NS;
    if (!c->look || !c->look(c->look_context)) return 0;
    atomic_store_explicit(&c->stop, 1, memory_order_relaxed);
    return 1;
}

/* Whether there is something left to do: the rest of the steps that are under way, or the next steps of all lanes. */
static int go_on(be_call *c) {
    const int64_t steps = c->verb == BE_ROLLOUT ? c->steps : 1;
    if (c->left > 0) return 1;
    if (c->threads) c->first_step += c->num_steps;
    if (c->first_step >= steps) return 0;
    if (c->verb == BE_ROLLOUT) take_steps(c);
    c->left = c->total;
    return 1;
}

int be_call_next(be_call *c) {
    const int before = c->threads;
    if (before) {
        account(c);
        c->stopped = atomic_load_explicit(&c->stop, memory_order_relaxed);
        if (c->stopped || !go_on(c)) return 0;
    } else if (!go_on(c)) {
        return 0;
    }
    const int fresh = c->left == c->total;
    int threads = c->most > 1 && be_plan_way(c->plan, (double)(c->left * c->num_steps)) ? c->most : 1;
    if (threads > 1 && !c->pool) threads = be_team_size(threads, 0);
    c->threads = threads;
    if (fresh) {
        deal(c, 0, threads);
    } else if (threads > 1 && before == 1 && c->num_shares == 1) {
        deal(c, atomic_load_explicit(&c->shares[0].next, memory_order_relaxed), threads);
    }
    choose_grain(c);
    c->end = INFINITY;
    if (c->timed || before || c->grain < c->left || c->verb == BE_ROLLOUT) {
        c->start = be_now_ns();
        if (!before) c->next_look = c->start + LOOK_NS;
        if (c->start >= c->next_look && look(c, c->start)) {
            c->stopped = 1;
            return 0;
        }
        /* When single lanes take long, the threads do not stop to decide again, except during a trial. */
        if (c->timed && (c->plan->trying || !c->by_lane || threads == 1)) {
            c->end = c->start + (c->plan->trying ? BE_PLAN_TRIAL_NS : ROUND_NS);
        }
    }
    return threads;
}

/* ---- working ---------------------------------------------------------------------------------------- */

static int first_share(const be_call *c, int part) {
    if (!c->placement || c->num_shares != c->placement->num_blocks) return part % c->num_shares;
    return part == 0 ? be_block_here(c->placement) : be_block_of_worker(c->placement, part - 1);
}

static int is_time(be_call *c, int part) {
    const double now = be_now_ns();
    if (part == 0 && now >= c->next_look) look(c, now);
    return now >= c->end || atomic_load_explicit(&c->stop, memory_order_relaxed);
}

/* Notes what a lane takes that is stepped ahead. */
static void note_lane(const be_call *c, const be_batch *batch, double ns, int64_t lanes) {
    if (resets(c) || (c->verb != BE_ROLLOUT && !is_ahead(c, batch))) return;
    const double steps = (double)lanes * (double)c->num_steps;
    atomic_store_explicit(&batch->driver->lane_ns, ns / steps, memory_order_relaxed);
}

static int64_t roll(be_call *c, int part, int64_t begin, int64_t end, be_error *error) {
    const int64_t last = c->first_step + c->num_steps;
    if (!c->by_lane) {
        return c->isa->rollout(c->batch, begin, end, c->first_step, c->num_steps, c->rows, c->policy, error);
    }
    /* The steps of a lane may take seconds, so it can stop in the middle of them. Then the other lanes have stopped,
     * too. */
    for (int64_t t = c->first_step; t < last; t++) {
        if (c->isa->rollout(c->batch, begin, end, t, 1, c->rows, c->policy, error) < 0) return -1;
        if (part == 0 && t + 1 < last) (void)is_time(c, part);
        if (atomic_load_explicit(&c->stop, memory_order_relaxed)) break;
    }
    return 0;
}

/* Steps the lanes at positions begin..end-1 of the list, which are all of one batch. Returns how many have finished in
 * this step, or -1. */
static int64_t step_listed(be_call *c, const be_member *own, int part, int64_t begin, int64_t end, be_error *error) {
    const be_table *table = be_batch_table(own->batch);
    int64_t finished = 0;
    if (own->batch->driver->ahead) {
        int64_t places[BE_LIST], count = 0;
        for (; count < BE_LIST && begin + count < end; count++) places[count] = begin + count;
        be_step_ahead(own->batch, c->lanes + begin, places, c->resets ? c->resets + begin : NULL, count, c->rows);
    }
    for (int64_t k = begin; k < end;) {
        const int64_t *lanes = c->lanes + k;
        const int64_t left = end - k;
        const int64_t run = c->by_lane ? 1 : be_lanes_run(own->batch, lanes, left, left);
        int64_t n = run, done;
        be_rows rows;
        be_rows_slice(table, &rows, c->rows, k);
        rows.first = lanes[0];
        if (c->resets && c->resets[k]) {
            done =
                be_batch_reset(own->batch, lanes[0], lanes[0] + 1, NULL, own->options, &rows, error) == BE_OK ? 0 : -1;
        } else if (run) {
            done = c->isa->step(own->batch, lanes[0], lanes[0] + n, &rows, error);
        } else {
            n = least(left, BE_SCATTERED_LANES);
            done = be_scattered_step(own->scattered, part, c->isa, own->batch, lanes, (int)n, &rows, error);
        }
        if (done < 0) return -1;
        finished += done;
        k += n;
    }
    return finished;
}

/* Resets lanes begin..end-1 of a batch, all with the same options or each with its own. */
static int64_t reset(const be_member *own, const uint8_t *mask, int64_t begin, int64_t end, const be_rows *rows,
                     be_error *error) {
    const int64_t each = own->options_stride ? 1 : end - begin;
    for (int64_t i = begin; i < end; i += each) {
        const double *options = own->options + i * own->options_stride;
        if (be_batch_reset(own->batch, i, i + each, mask, options, rows, error) != BE_OK) return -1;
    }
    return 0;
}

/* Does the call for the lanes begin..end-1 of a part, or for these positions of the list. */
static int64_t do_part(be_call *c, const be_member *own, int part, int64_t begin, int64_t end, be_error *error) {
    const int64_t first = own->first;
    be_rows rows;
    if (c->verb == BE_STEP_LISTED) return step_listed(c, own, part, begin, end, error);
    be_rows_slice(be_batch_table(own->batch), &rows, c->rows, first);
    rows.first = 0;
    if (c->verb == BE_STEP) return c->isa->step(own->batch, begin - first, end - first, &rows, error);
    return reset(own, c->mask ? c->mask + first : NULL, begin - first, end - first, &rows, error);
}

/* Where the work of a piece begins that begins at this position, and that of the piece before it ends: kernels take
 * whole blocks of their batch's lanes, and how positions are cut into pieces does not know about the parts. */
static int64_t at_block(const be_member *own, int64_t position) {
    if (own->batch->type->flags & BE_LANE_BY_LANE) return position;
    const int64_t lane = (position - own->first + BE_LANE_BLOCK - 1) / BE_LANE_BLOCK * BE_LANE_BLOCK;
    return own->first + least(lane, own->batch->num_lanes);
}

/* The same of several parts. */
static int64_t do_parts(be_call *c, int part, int64_t begin, int64_t end, be_error *error) {
    const be_member *own = c->parts;
    int64_t finished = 0;
    while (begin < end) {
        int64_t stop = begin + 1, from = begin, to;
        if (c->verb == BE_STEP_LISTED) {
            own = c->parts + c->part_of[begin];
            while (stop < end && c->part_of[stop] == c->part_of[begin]) stop++;
            to = stop;
        } else {
            while (own->first + own->batch->num_lanes <= begin) own++;
            stop = least(end, own->first + own->batch->num_lanes);
            from = at_block(own, begin);
            to = at_block(own, stop);
        }
        begin = stop;
        if (from == to) continue;
        const double started = be_now_ns();
        const int64_t count = do_part(c, own, part, from, to, error);
        if (count < 0) {
            if (error->lane >= 0) error->lane += own->first;
            return -1;
        }
        note_lane(c, own->batch, be_now_ns() - started, to - from);
        finished += count;
    }
    return finished;
}

/* Does the call for lanes begin..end-1. Returns how many lanes have finished in a step, or -1. */
static int64_t do_piece(be_call *c, int part, int64_t begin, int64_t end, be_error *error) {
    if (c->parts) return do_parts(c, part, begin, end, error);
    const be_member whole = {c->batch, 0, c->options, c->options_stride, c->scattered};
    switch (c->verb) {
    case BE_STEP:
        return c->isa->step(c->batch, begin, end, c->rows, error);
    case BE_STEP_LISTED:
        return step_listed(c, &whole, part, begin, end, error);
    case BE_RESET:
    case BE_RESET_SOME:
        return reset(&whole, c->mask, begin, end, c->rows, error);
    case BE_SEED:
        if (be_batch_seed(c->batch, c->words, c->num_words, begin, end) == 0) return 0;
        be_fail(error, BE_ERROR_MEMORY, -1, "cannot seed: out of memory");
        return -1;
    case BE_ROLLOUT:
        break;
    }
    return roll(c, part, begin, end, error);
}

static void note_error(be_call *c, const be_error *error) {
    if (atomic_exchange(&c->failed, 1) == 0) c->error = *error;
}

int be_call_inline(be_call *c, be_plan plans[BE_NUM_PLANS], int threads) {
    const int64_t lanes = total_of(c);
    if (c->verb == BE_ROLLOUT || by_lane(c)) return 0;
    be_plan *plan = &plans[c->verb];
    if (lanes > UNKNOWN_LANES && lanes > lone_lanes(plans, c->verb)) return 0;
    if (threads > 1 && plan->threads > 1 && !be_plan_untimed(plan)) return 0;
    const be_fp before = be_fp_enter();
    const int64_t finished = do_piece(c, 0, 0, lanes, &c->error);
    be_fp_leave(&before);
    if (finished > 0) atomic_store_explicit(&c->finished, finished, memory_order_relaxed);
    return 1;
}

/* Works on the lanes of this thread's share, and then on those that other threads have not reached yet. */
void be_call_work(be_call *c, int part) {
    const be_fp before = be_fp_enter();
    const int first = first_share(c, part),
              timed = !c->parts && !resets(c) && (is_ahead(c, c->batch) || c->verb == BE_ROLLOUT);
    const int unknown = c->threads == 1 && !c->timed && c->plan->cost[0] == 0;
    int64_t done = 0, finished = 0;
    for (int i = 0; i < c->num_shares; i++) {
        be_share *share = &c->shares[first + i < c->num_shares ? first + i : first + i - c->num_shares];
        while (atomic_load_explicit(&share->next, memory_order_relaxed) < share->end) {
            /* The calling thread does at least one piece. */
            if ((done || part) && is_time(c, part)) goto out;
            const int64_t begin = atomic_fetch_add_explicit(&share->next, c->grain, memory_order_relaxed);
            if (begin >= share->end) break;
            const int64_t end = least(begin + c->grain, share->end);
            if (end == share->end) atomic_fetch_sub_explicit(&c->open, 1, memory_order_relaxed);
            be_error error;
            error.status = BE_OK;
            const double started = timed || unknown ? be_now_ns() : 0;
            const int64_t count = do_piece(c, part, begin, end, &error);
            if (timed) note_lane(c, c->batch, be_now_ns() - started, end - begin);
            if (unknown) c->plan->cost[0] = (be_now_ns() - started) / (double)(end - begin);
            if (count < 0) note_error(c, &error);
            finished += count > 0 ? count : 0;
            done += end - begin;
        }
        if (atomic_load_explicit(&c->open, memory_order_relaxed) <= 0) break;
    }
out:
    if (done) atomic_fetch_add_explicit(&c->done, done, memory_order_relaxed);
    if (finished) atomic_fetch_add_explicit(&c->finished, finished, memory_order_relaxed);
    be_fp_leave(&before);
}

static void work(void *context, int64_t begin, int64_t end, int worker) {
    (void)begin, (void)end;
    be_call *c = context;
    be_call_work(c, worker == be_pool_num_workers(c->pool) ? 0 : worker + 1);
}

int be_call_run(be_call *c) {
    for (int threads; (threads = be_call_next(c)) > 0;) {
        if (threads == 1) {
            be_call_work(c, 0);
            continue;
        }
        const be_pool_status status = be_pool_for(c->pool, threads, 1, threads, work, c);
        if (status == BE_POOL_OK) continue;
        return be_fail(&c->error, BE_ERROR_ENGINE, -1, "the workers cannot be used (status %d)", (int)status);
    }
    return (int)c->error.status;
}
