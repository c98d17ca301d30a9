/* Blackjack-v1: draw cards towards 21, against a dealer who stops at 17. Cards come from an infinite deck.
 *
 * Sutton and Barto (2018), example 5.1; draws and rewards as gymnasium.envs.toy_text.BlackjackEnv has them.
 */
#include <string.h>

#include "batchenv.h"

/* A player who is not bust has at most 21 cards, and then draws one. A dealer has fewer. */
enum { HAND = 24, ACE = 1, TEN = 10, JACK = 11, KING = 13 };

enum { ACTION, OBSERVATION };
static const be_port ports[] = {
    [ACTION] = {"", BE_ACTION, BE_DISCRETE(2)},
    [OBSERVATION] = {"", BE_OBSERVATION, BE_TUPLE(32, 11, 2)},
    {0},
};

enum { PLAYER, DEALER, TOP_CARD_SUIT, TOP_CARD_VALUE };
static const be_field state[] = {
    [PLAYER] = {"player", BE_U8, HAND, "the player's cards, 1 (ace) to 10, then zeros", 0, TEN},
    [DEALER] = {"dealer", BE_U8, HAND, "the dealer's cards, 1 (ace) to 10, then zeros; the first one shows", 0, TEN},
    [TOP_CARD_SUIT] = {"top_card_suit", BE_I64, 1, "of the dealer's first card: clubs, diamonds, hearts, spades", 0, 3},
    [TOP_CARD_VALUE] = {"top_card_value", BE_I64, 1,
                        "of the dealer's first card: 1 (ace) to 10, or 11 to 13 for jack, queen, king", 0, KING},
    {0},
};

enum { NATURAL, SAB };
static const be_param params[] = {
    [NATURAL] = {"natural", BE_PARAM_BOOL, 0, 0, 1, NULL, "a won natural (ace and ten) pays 1.5"},
    [SAB] = {"sab", BE_PARAM_BOOL, 0, 0, 1, NULL,
             "Sutton and Barto's rules: the player's natural beats all but the dealer's; `natural` is ignored"},
    {0},
};

/* What matters about a hand; `low` is its sum with each ace counted as 1. */
typedef struct hand {
    int cards, low, ace;
} hand;

/* Adds up eight cards at a time. Each is a byte of at most 10, so no carry leaves it. */
static inline hand look_at(const uint8_t *cards) {
    const uint64_t ones = UINT64_C(0x0101010101010101), below_top = 0x7f * ones, top = 0x80 * ones;
    uint64_t total = 0, used = 0, no_ace = top;
    for (int j = 0; j < HAND; j += 8) {
        uint64_t word;
        memcpy(&word, cards + j, 8);
        total += word;
        used += (word + below_top) >> 7 & ones;
        no_ace &= (word ^ ones * ACE) + below_top;
    }
    return (hand){(int)(used * ones >> 56), (int)(total * ones >> 56), no_ace != top};
}

static inline int has_usable_ace(hand h) { return h.ace & (h.low + 10 <= 21); }
static inline int sum_of(hand h) { return h.low + 10 * has_usable_ace(h); }
static inline int is_natural(hand h) { return (h.cards == 2) & h.ace & (h.low == ACE + TEN); }
static inline int score_of(hand h) { return h.low > 21 ? 0 : sum_of(h); }

static inline uint8_t draw_card(be_rng *rng) {
    const int64_t card = be_rng_choice(rng, 13) + 1;
    return (uint8_t)(card < TEN ? card : TEN);
}

/* Adds a card to `cards`, whose hand is `h`. */
static inline hand take_card(hand h, uint8_t *cards, be_rng *rng) {
    const uint8_t card = draw_card(rng);
    cards[h.cards] = card;
    return (hand){h.cards + 1, h.low + card, h.ace | (card == ACE)};
}

static int check_state(const be_batch *b, const void *const *columns, int64_t count, be_error *error) {
    (void)b;
    const int64_t *top = columns[TOP_CARD_VALUE];
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *dealer = (const uint8_t *)columns[DEALER] + i * HAND;
        for (int who = PLAYER; who <= DEALER; who++) {
            const uint8_t *cards = (const uint8_t *)columns[who] + i * HAND;
            const int n = look_at(cards).cards;
            int before_last = 0, gap = 0;
            for (int j = 0; j < HAND; j++) {
                before_last += j < n - 1 ? cards[j] : 0;
                gap |= (cards[j] != 0) != (j < n);
            }
            if (n < 2 || gap || before_last > 21) {
                return be_fail(error, BE_ERROR_VALUE, i,
                               "%s of lane %lld must be two or more cards, then zeros, and not bust before the last",
                               state[who].name, (long long)i);
            }
        }
        if (top[i] != dealer[0] && !(dealer[0] == TEN && top[i] >= JACK)) {
            return be_fail(error, BE_ERROR_VALUE, i, "top_card_value=%lld of lane %lld is not the dealer's first card",
                           (long long)top[i], (long long)i);
        }
    }
    return BE_OK;
}

static inline void write_observation(int64_t *observation, hand player, const uint8_t *dealer) {
    observation[0] = sum_of(player);
    observation[1] = dealer[0];
    observation[2] = has_usable_ace(player);
}

static int observe(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    (void)error;
    const uint8_t *player = b->state[PLAYER], *dealer = b->state[DEALER];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        int64_t *observation = BE_ROW(int64_t, rows->port[OBSERVATION], rows, i, 3);
        write_observation(observation, look_at(player + i * HAND), dealer + i * HAND);
    }
    return BE_OK;
}

static int reset(be_batch *b, const int64_t *lanes, int64_t count, const be_rows *rows, be_error *error) {
    uint8_t *player = b->state[PLAYER], *dealer = b->state[DEALER];
    int64_t *suit = b->state[TOP_CARD_SUIT], *value = b->state[TOP_CARD_VALUE];
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = lanes[k];
        be_rng rng = b->rng[i];
        memset(player + i * HAND, 0, HAND);
        memset(dealer + i * HAND, 0, HAND);
        for (int j = 0; j < 2; j++) dealer[i * HAND + j] = draw_card(&rng);
        for (int j = 0; j < 2; j++) player[i * HAND + j] = draw_card(&rng);
        suit[i] = be_rng_choice(&rng, 4);
        value[i] = dealer[i * HAND];
        if (value[i] == TEN) value[i] = JACK + be_rng_choice(&rng, 3);
        b->rng[i] = rng;
    }
    return observe(b, lanes, count, rows, error);
}

static int step(be_batch *b, int64_t begin, int64_t end, const be_rows *rows, be_error *error) {
    (void)error;
    const int64_t *restrict action = rows->port[ACTION];
    int64_t *restrict observation = rows->port[OBSERVATION];
    double *restrict reward = rows->reward;
    uint8_t *restrict terminated = rows->terminated;
    const int sab = b->params[SAB] != 0, pays = b->params[NATURAL] != 0;

    for (int64_t i = begin, k = 0; i < end; i++, k++) {
        if (rows->skip[k]) continue;
        uint8_t *player_cards = (uint8_t *)b->state[PLAYER] + i * HAND;
        uint8_t *dealer_cards = (uint8_t *)b->state[DEALER] + i * HAND;
        hand player = look_at(player_cards);
        if (action[k]) { /* hit */
            if (player.cards < HAND) player = take_card(player, player_cards, &b->rng[i]);
            terminated[k] = player.low > 21;
            reward[k] = player.low > 21 ? -1.0 : 0.0;
        } else { /* stick */
            hand dealer = look_at(dealer_cards);
            while (sum_of(dealer) < 17) dealer = take_card(dealer, dealer_cards, &b->rng[i]);
            const int mine = score_of(player), theirs = score_of(dealer);
            double result = (double)((mine > theirs) - (mine < theirs));
            if (sab) {
                if (is_natural(player) & !is_natural(dealer)) result = 1.0;
            } else if (pays & is_natural(player) & (mine > theirs)) {
                result = 1.5;
            }
            reward[k] = result;
            terminated[k] = 1;
        }
        write_observation(observation + 3 * k, player, dealer_cards);
    }
    return BE_OK;
}

static const be_id ids[] = {{"Blackjack-v1", .settings = {{"sab", 1}, {"natural", 0}}}, {0}};

BE_ENV(blackjack) = {
    .abi = BE_ABI,
    .name = "Blackjack",
    .ids = ids,
    .family = "toy text",
    .frames_per_second = 4,
    .ports = ports,
    .state = state,
    .params = params,
    .check_state = check_state,
    .reset = reset,
    .observe = observe,
    .step = step,
};
