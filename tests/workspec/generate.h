/*
 * generate.h: documents made at random from a seed: tasks that do anything to a few objects, valid
 * or not.  The objects are those of the caller: a, b, m, w who perform, p, and n0 to n2, which
 * tasks create.
 */
#ifndef WOPR_TESTS_WORKSPEC_GENERATE_H
#define WOPR_TESTS_WORKSPEC_GENERATE_H

#include "base/arena.h"
#include "base/buf.h"

enum { GEN_TASKS_MAX = 24 };

struct gen_dice {
    uint64_t state;
};
static inline unsigned gen_throw(struct gen_dice *d, unsigned n) {
    d->state = d->state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(d->state >> 33) % n;
}

static inline void gen_value(struct buf *b, struct gen_dice *d) {
    static const char *const VALUES[] = {
        "0",  "1",           "2.5", "-3",        "\"free\"", "\"x\"", "true",       "null",
        "[]", "[1,\"x\",1]", "{}",  "{\"y\":1}", "1e308",    "\"\"",  "{\"y\":{}}", "0.1"};
    buf_addz(b, VALUES[gen_throw(d, sizeof VALUES / sizeof *VALUES)]);
}

static inline void gen_operator(struct buf *b, struct gen_dice *d) {
    switch (gen_throw(d, 9)) {
    case 0:
        buf_addf(b, "{\"delta\":%d}", (int)gen_throw(d, 7) - 3);
        return;
    case 1:
        buf_addf(b, "{\"multiply\":%u,\"delta\":0.1}", gen_throw(d, 4));
        return;
    case 2:
        buf_addz(b, gen_throw(d, 2) ? "{\"increment\":true}" : "{\"decrement\":true}");
        return;
    case 3:
        buf_addz(b, "{\"append\":");
        break;
    case 4:
        buf_addz(b, "{\"remove\":");
        break;
    case 5:
        buf_addz(b, "{\"append\":1,\"remove\":");
        break;
    case 6:
        buf_addz(b, "{\"from\":");
        gen_value(b, d);
        buf_addz(b, ",\"to\":");
        break;
    default:
        buf_addz(b, "{\"set\":");
    }
    gen_value(b, d);
    buf_addc(b, '}');
}

static inline void gen_interaction(struct buf *b, struct gen_dice *d) {
    static const char *const TARGETS[] = {"a", "b", "m", "w", "p", "n0", "n1", "n2"};
    static const char *const NAMES[] = {"state",
                                        "quantity",
                                        "list",
                                        "pos.x.y",
                                        "pos",
                                        "properties.location",
                                        "location",
                                        "properties.location.z",
                                        "a.b",
                                        "emoji",
                                        "properties.state"};
    const char *temporary = gen_throw(d, 2) ? ",\"temporary\":true" : "";
    unsigned what = gen_throw(d, 10);
    if (what == 0) {
        buf_addf(b,
                 "{\"action\":\"create\",\"object\":{\"id\":\"n%u\",\"type\":\"product\",\"name\":"
                 "\"N\",\"location\":\"x\",\"properties\":{\"quantity\":2,\"list\":[1]}}%s}",
                 gen_throw(d, 3), temporary);
    } else if (what == 1) {
        buf_addf(b, "{\"action\":\"delete\",\"target_id\":\"%s\"%s}", TARGETS[gen_throw(d, 8)],
                 temporary);
    } else {
        buf_addf(b,
                 "{\"target_id\":\"%s\"%s,\"property_changes\":{\"%s\":", TARGETS[gen_throw(d, 8)],
                 temporary, NAMES[gen_throw(d, 11)]);
        gen_operator(b, d);
        buf_addz(b, "}}");
    }
}

/* Tasks of the performers a, b, m, w, in JSON, without the brackets around them. */
static inline const char *gen_tasks(struct arena *a, struct gen_dice *d) {
    static const char *const ACTORS[] = {"a", "b", "m", "w"};
    unsigned minute[4] = {480, 480, 480, 480}, last[4] = {0}, nr = gen_throw(d, GEN_TASKS_MAX);
    struct buf b;
    buf_init(&b, 1 << 20);
    for (unsigned i = 0; i < nr; i++) {
        unsigned who = gen_throw(d, 4), length = 1 + gen_throw(d, 30), actions = gen_throw(d, 4);
        minute[who] += gen_throw(d, 20);
        buf_addf(&b,
                 "%s{\"id\":\"t%u\",\"actor_id\":\"%s\",\"start\":\"%02u:%02u\",\"duration\":%u,"
                 "\"interactions\":[",
                 i == 0 ? "" : ",", i, ACTORS[who], minute[who] / 60 % 24, minute[who] % 60,
                 length);
        minute[who] += length;
        for (unsigned k = 0; k < actions; k++) {
            if (k > 0) buf_addc(&b, ',');
            gen_interaction(&b, d);
        }
        buf_addc(&b, ']');
        if (last[who] > 0 && gen_throw(d, 2))
            buf_addf(&b, ",\"depends_on\":%s\"t%u\"%s", i % 3 ? "[" : "{\"any\":[", last[who] - 1,
                     i % 3 ? "]" : "]}");
        last[who] = i + 1;
        buf_addc(&b, '}');
    }
    char *text = arena_cstr(a, buf_str(&b));
    buf_fini(&b);
    return text;
}

#endif
