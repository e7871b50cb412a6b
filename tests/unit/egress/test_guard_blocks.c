/*
 * test_guard_blocks.c: every special-purpose block of the IANA registries (RFC 6890), by its first
 * and last address and the neighbours on both sides.  HOOK-16, HOOK-17.
 */
#include "egress/egress.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>

/* before, after: may the neighbour be reached?  NONE: there is none. */
enum near { NO, YES, NONE };
static const struct block {
    const char *net;
    unsigned bits;
    enum near before, after;
} BLOCKS[] = {
    {"0.0.0.0", 8, NONE, YES},
    {"10.0.0.0", 8, YES, YES},
    {"100.64.0.0", 10, YES, YES},
    {"127.0.0.0", 8, YES, YES},
    {"168.63.129.16", 32, YES, YES},
    {"169.254.0.0", 16, YES, YES},
    {"172.16.0.0", 12, YES, YES},
    {"192.0.0.0", 24, YES, YES},
    {"192.0.0.192", 32, NO, NO},
    {"192.0.2.0", 24, YES, YES},
    {"192.31.196.0", 24, YES, YES},
    {"192.52.193.0", 24, YES, YES},
    {"192.88.99.0", 24, YES, YES},
    {"192.168.0.0", 16, YES, YES},
    {"192.175.48.0", 24, YES, YES},
    {"198.18.0.0", 15, YES, YES},
    {"198.51.100.0", 24, YES, YES},
    {"203.0.113.0", 24, YES, YES},
    {"224.0.0.0", 4, YES, NO},
    {"240.0.0.0", 4, NO, NONE},
    {"255.255.255.255", 32, NO, NONE},

    {"::", 128, NONE, NO},
    {"::1", 128, NO, NO},
    {"::", 96, NONE, NO},         /* IPv4-compatible */
    {"::ffff:0:0:0", 96, NO, NO}, /* translated (SIIT) */
    {"64:ff9b::", 96, NO, NO},    /* NAT64 */
    {"64:ff9b:1::", 48, NO, NO},
    {"100::", 64, NO, NO},       /* discard-only */
    {"100:0:0:1::", 64, NO, NO}, /* dummy */
    {"2000::", 3, NO, NO},       /* only the neighbours: its own ends see below */
    {"2001::", 23, YES, YES},    /* IETF protocol assignments */
    {"2001::", 32, YES, NO},     /* Teredo */
    {"2001:1::1", 128, NO, NO},
    {"2001:1::2", 128, NO, NO},
    {"2001:2::", 48, NO, NO},         /* benchmarks */
    {"2001:3::", 32, NO, NO},         /* AMT */
    {"2001:4:112::", 48, NO, NO},     /* AS112 */
    {"2001:10::", 28, NO, NO},        /* ORCHID */
    {"2001:20::", 28, NO, NO},        /* ORCHIDv2 */
    {"2001:30::", 28, NO, NO},        /* drone remote ids */
    {"2001:db8::", 32, YES, YES},     /* documentation */
    {"2620:4f:8000::", 48, YES, YES}, /* AS112 */
    {"3fff::", 20, YES, YES},         /* documentation */
    {"5f00::", 16, NO, NO},           /* SRv6 */
    {"fc00::", 7, NO, NO},            /* unique local */
    {"fd00:ec2::254", 128, NO, NO},   /* metadata of a cloud */
    {"fe80::", 10, NO, NO},           /* link-local */
    {"fec0::", 10, NO, NO},           /* site-local */
    {"ff00::", 8, NO, NONE},          /* multicast */

    {"2002::", 24, YES, YES},           /* 6to4 of 0/8 */
    {"2002:a00::", 24, YES, YES},       /* of 10/8 */
    {"2002:7f00::", 24, YES, YES},      /* of 127/8 */
    {"2002:a9fe::", 32, YES, YES},      /* of 169.254/16 */
    {"2002:c0a8::", 32, YES, YES},      /* of 192.168/16 */
    {"2002:e000::", 19, YES, YES},      /* of 224/3 */
    {"::ffff:10.0.0.0", 104, YES, YES}, /* mapped */
    {"::ffff:127.0.0.0", 104, YES, YES},
    {"::ffff:169.254.0.0", 112, YES, YES},
};

struct address {
    int family;
    unsigned n;
    uint8_t b[16];
};

static struct address parse(const char *text) {
    struct address a = {.family = strchr(text, ':') ? AF_INET6 : AF_INET};
    a.n = a.family == AF_INET ? 4 : 16;
    cr_assert_eq(inet_pton(a.family, text, a.b), 1, "%s", text);
    return a;
}

static bool reachable(const struct address *a) {
    static const struct egress_allow none = {.n = 0};
    struct sockaddr_storage ss = {.ss_family = (sa_family_t)a->family};
    bool listed;
    if (a->family == AF_INET) memcpy(&((struct sockaddr_in *)&ss)->sin_addr, a->b, 4);
    else memcpy(&((struct sockaddr_in6 *)&ss)->sin6_addr, a->b, 16);
    return egress_address_ok((const struct sockaddr *)&ss, &none, &listed);
}

static struct address last_of(struct address a, unsigned bits) {
    for (unsigned i = bits; i < a.n * 8; i++) a.b[i / 8] |= (uint8_t)(0x80u >> (i % 8));
    return a;
}

static struct address moved(struct address a, int by) {
    uint8_t over = by > 0 ? 0x00 : 0xff;
    for (unsigned i = a.n; i-- > 0;) {
        a.b[i] = (uint8_t)(a.b[i] + by);
        if (a.b[i] != over) break;
    }
    return a;
}

Test(guard, first_last_and_neighbours_of_every_special_block /* HOOK-17, S15 */) {
    for (size_t i = 0; i < sizeof BLOCKS / sizeof *BLOCKS; i++) {
        const struct block *k = &BLOCKS[i];
        struct address first = parse(k->net), last = last_of(first, k->bits);
        struct address before = moved(first, -1), after = moved(last, 1);
        bool global = strcmp(k->net, "2000::") == 0;
        cr_expect_eq(reachable(&first), global, "first of %s/%u", k->net, k->bits);
        cr_expect_eq(reachable(&last), global, "last of %s/%u", k->net, k->bits);
        if (k->before != NONE)
            cr_expect_eq(reachable(&before), k->before == YES, "before %s/%u", k->net, k->bits);
        if (k->after != NONE)
            cr_expect_eq(reachable(&after), k->after == YES, "after %s/%u", k->net, k->bits);
    }
}

Test(guard, the_other_metadata_addresses_are_in_some_block /* HOOK-17 */) {
    static const char *const METADATA[] = {"169.254.169.254", "169.254.170.2", "100.100.100.200",
                                           "192.0.0.192",     "168.63.129.16", "fd00:ec2::254",
                                           "fd20:ce::254"};
    for (size_t i = 0; i < sizeof METADATA / sizeof *METADATA; i++) {
        struct address a = parse(METADATA[i]);
        cr_expect_not(reachable(&a), "%s", METADATA[i]);
    }
}
