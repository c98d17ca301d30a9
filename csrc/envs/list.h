/* Every env type, one line each: X(name) stands for the type that the env's file defines as BE_ENV(name). */
#define BE_ENV_LIST(X)                                                                                                 \
    X(cartpole)                                                                                                        \
    X(mountain_car)                                                                                                    \
    X(mountain_car_continuous)                                                                                         \
    X(pendulum)                                                                                                        \
    X(acrobot)                                                                                                         \
    X(frozen_lake)                                                                                                     \
    X(taxi)                                                                                                            \
    X(cliff_walking)                                                                                                   \
    X(blackjack)                                                                                                       \
    X(catch)                                                                                                           \
    X(nchain)                                                                                                          \
    X(synthetic)                                                                                                       \
    X(atari)
