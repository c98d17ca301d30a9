/* Every env type over an engine, one line each: X(name) stands for the type be_env_name. They are compiled once, not
 * per instruction set: their time is spent in the engine. */
#define BE_ENGINE_LIST(X)                                                                                              \
    X(ant)                                                                                                             \
    X(ant_v4)                                                                                                          \
    X(ant_v4_contact)                                                                                                  \
    X(half_cheetah)                                                                                                    \
    X(half_cheetah_v4)                                                                                                 \
    X(hopper)                                                                                                          \
    X(hopper_v4)                                                                                                       \
    X(humanoid)                                                                                                        \
    X(humanoid_v4)                                                                                                     \
    X(humanoid_standup)                                                                                                \
    X(humanoid_standup_v4)                                                                                             \
    X(inverted_double_pendulum)                                                                                        \
    X(inverted_double_pendulum_v4)                                                                                     \
    X(inverted_pendulum)                                                                                               \
    X(inverted_pendulum_v4)                                                                                            \
    X(pusher)                                                                                                          \
    X(pusher_v4)                                                                                                       \
    X(reacher)                                                                                                         \
    X(reacher_v4)                                                                                                      \
    X(swimmer)                                                                                                         \
    X(swimmer_v4)                                                                                                      \
    X(walker2d)                                                                                                        \
    X(walker2d_v4)                                                                                                     \
    X(mujoco_custom)
