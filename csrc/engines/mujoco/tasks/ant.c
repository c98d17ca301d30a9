/* Ant-v5 and -v4. */
#include "engines/mujoco/ant.h"

enum { NOISE = ANT_PARAMS, EXCLUDE, INCLUDE_FORCES /* -v5 only */ };
#define SHARED_PARAMS ANT_SHARED_PARAMS, [NOISE] = MJ_SCALE(0.1), [EXCLUDE] = MJ_EXCLUDE
static const be_param params[] = {SHARED_PARAMS, [INCLUDE_FORCES] = ANT_INCLUDE_FORCES, {0}};
static const be_param params_v4[] = {SHARED_PARAMS, {0}};

static const be_port ports[] = {MJ_SHARED_PORTS, ANT_INFOS, {0}};
static const be_port ports_v4[] = {MJ_SHARED_PORTS, ANT_INFOS_V4, {0}};
static const be_port ports_v4_contact[] = {MJ_SHARED_PORTS, ANT_INFOS_V4_CONTACT, {0}};

static int prepare_any(be_setup *setup, int forces, int v4, be_error *error) {
    const int64_t size = ant_observation_size(setup->engine, setup->params[EXCLUDE] != 0 ? 2 : 0, forces, v4);
    return be_mujoco_spaces(setup, size, 3, 0, error);
}
static int prepare(be_setup *setup, be_error *error) {
    return prepare_any(setup, setup->params[INCLUDE_FORCES] != 0, 0, error);
}
static int prepare_v4(be_setup *setup, be_error *error) { return prepare_any(setup, 0, 1, error); }
static int prepare_v4_contact(be_setup *setup, be_error *error) { return prepare_any(setup, 1, 1, error); }

static void write_observation(const be_batch *b, int64_t lane, double *row) {
    const int forces = be_mujoco_is_v4(b) ? ant_charges_contacts(b) : be_param_of(b, INCLUDE_FORCES, 0) != 0;
    ant_write_observation(b, lane, be_param_of(b, EXCLUDE, 0) != 0 ? 2 : 0, forces, row);
}

static int start(be_batch *b, int64_t lane, const be_rows *rows, be_error *error) {
    const int status = be_mujoco_start(b, lane, be_param_of(b, NOISE, lane), 1, error);
    be_mujoco_clear_info(b, lane, rows);
    ant_write_start(b, lane, rows);
    return status;
}
MJ_RESET_AND_OBSERVE(start, write_observation)

static int step(be_batch *b, int64_t lane, int64_t end, const be_rows *rows, be_error *error) {
    (void)end;
    const int status = ant_step(b, lane, rows, error);
    if (status == BE_OK) write_observation(b, lane, MJ_OBSERVATION(b, rows, lane));
    return status;
}

#define MEMBERS MJ_SHARED_MEMBERS, .frames_per_second = 20, .reset = reset, .observe = observe, .step = step
BE_ENV(ant) = {.name = "Ant",
               .ids = MJ_ID("Ant-v5", 1000, BE_THRESHOLD(6000.0)),
               .params = params,
               .ports = ports,
               .reads = ant_reads,
               .prepare = prepare,
               MEMBERS};
BE_ENV(ant_v4) = {.name = "AntV4",
                  .ids = MJ_ID("Ant-v4", 1000, BE_THRESHOLD(6000.0)),
                  .variant = MJ_V4,
                  .params = params_v4,
                  .ports = ports_v4,
                  .reads = ant_reads_v4,
                  .prepare = prepare_v4,
                  MEMBERS};
BE_ENV(ant_v4_contact) = {.name = "AntV4Contact",
                          .variant = MJ_V4 | CHARGES_CONTACTS,
                          .params = params_v4,
                          .ports = ports_v4_contact,
                          .reads = ant_reads_v4_contact,
                          .prepare = prepare_v4_contact,
                          MEMBERS};
