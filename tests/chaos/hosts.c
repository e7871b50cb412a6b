/* hosts.c: start, harm and heal the hosts. */
#include "world.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TICK_MS = 20, DOWN_MS_MAX = 1500, STOP_MS_MAX = 4500, OFFSET_MS_MAX = 8000 };

struct slot slots[HOSTS];
int hosts_nr = HOSTS;
static volatile int *ports; /* shared with the worker processes */

const char *hosts_ports_path(void) {
    static char path[320];
    snprintf(path, sizeof path, "%s/ports", slots[0].sv.dir);
    return path;
}

static void ports_make(void) {
    static const int none[HOSTS];
    int fd = open(hosts_ports_path(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    cr_assert(fd >= 0);
    cr_assert_eq(pwrite(fd, none, sizeof none, 0), (ssize_t)sizeof none);
    void *at = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(at != MAP_FAILED);
    ports = at;
    close(fd);
}

static void port_set(struct slot *s, int port) {
    atomic_store(&s->port, port);
    ports[s - slots] = port;
}

static void up(struct slot *s) {
    static const char *const common[] = {"--claim-ttl-ms",
                                         "2000",
                                         "--heartbeat-ms",
                                         "500",
                                         "--egress-allow",
                                         "127.0.0.1",
                                         "--webhook-retry-ms",
                                         "10",
                                         "--webhook-timeout-ms",
                                         "200",
                                         "--webhook-attempts",
                                         "100",
                                         "--webhook-breaker-seconds",
                                         "1"};
    size_t n = 0;
    for (; n < sizeof common / sizeof *common; n++) s->args[n] = common[n];
    s->args[n++] = "--clock-file";
    s->args[n++] = s->clock.path;
    s->args[n] = NULL;
    s->sv.args = s->args;
    server_again(&s->sv);
    s->state = SLOT_UP;
    port_set(s, s->sv.port);
}

void hosts_start(void) {
    static const char *const files[] = {
        "tests/integration/outside.json", "tests/chaos/workflows/chaos-nested.json",
        "tests/chaos/workflows/chaos-secret.json", "tests/chaos/workflows/chaos-worker.json"};
    static const char *const types[] = {"chaos.step", "chaos.ask"};
    server_start(&slots[0].sv, NULL);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        cr_assert_eq(ask(&slots[0].sv, "POST", "/v1/host/wopr/worker-types",
                         fmt("{\"typeId\":\"%s\"}", types[i]), NULL)
                         .status,
                     200);
    cr_assert_eq(server_stop(&slots[0].sv), 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *put[] = {"workflow", "put", fmt(WOPR_SOURCE_DIR "/%s", files[i]), NULL};
        struct str err = STR_NONE;
        cr_assert_eq(program(&slots[0].sv, put, NULL, &err), 0, STR_FMT, STR_ARG(err));
    }
    ports_make();
    for (int i = 1; i < hosts_nr; i++) slots[i].sv = slots[0].sv;
    for (int i = 0; i < hosts_nr; i++) {
        clock_make(&slots[i].clock, slots[0].sv.dir);
        up(&slots[i]);
    }
}

int hosts_port(uint64_t *rng) {
    unsigned from = (unsigned)client_chance(rng, (uint64_t)hosts_nr);
    for (unsigned i = 0; i < (unsigned)hosts_nr; i++) {
        int port = atomic_load(&slots[(from + i) % (unsigned)hosts_nr].port);
        if (port != 0) return port;
    }
    return 0;
}

static bool someone_is_frozen(void) {
    for (int i = 0; i < hosts_nr; i++)
        if (slots[i].state == SLOT_STOPPED) return true;
    return false;
}

static void harm(struct slot *s, uint64_t *rng, struct storm *out) {
    int rc;
    unsigned what = (unsigned)client_chance(rng, 5);
    if (what == 2 && someone_is_frozen()) what = 0; /* it would wait for a lock nobody frees */
    switch (what) {
    case 0:
    case 1:
        port_set(s, 0);
        server_kill(&s->sv);
        s->state = SLOT_DOWN;
        s->until_ms = now_ms() + (int64_t)client_chance(rng, DOWN_MS_MAX);
        out->kills++;
        break;
    case 2:
        port_set(s, 0);
        rc = server_stop(&s->sv);
        cr_assert_eq(rc, 0, "a host did not stop as it should: %d", rc);
        s->state = SLOT_DOWN;
        s->until_ms = now_ms() + (int64_t)client_chance(rng, DOWN_MS_MAX);
        out->terms++;
        break;
    case 3: /* and its next start finds it so */
        *s->clock.offset_ms = (int64_t)client_chance(rng, 2 * OFFSET_MS_MAX) - OFFSET_MS_MAX;
        out->jumps++;
        break;
    default: /* its clients wait in vain, its leases run out, and then it goes on */
        server_freeze_anywhere(&s->sv);
        s->state = SLOT_STOPPED;
        s->until_ms = now_ms() + 100 + (int64_t)client_chance(rng, STOP_MS_MAX);
        out->stops++;
        break;
    }
}

/* A process that is frozen inside a transaction keeps SQLite's lock; a host that starts meanwhile
 * gives up and says so, and whoever starts hosts tries again. */
static void heal(struct slot *s) {
    if (s->state == SLOT_DOWN && someone_is_frozen()) return;
    if (s->state == SLOT_STOPPED) {
        server_thaw(&s->sv);
        s->state = SLOT_UP;
        return;
    }
    up(s);
}

void hosts_storm(uint64_t *rng, int64_t ms, struct storm *out) {
    const int64_t end = now_ms() + ms;
    int64_t next = now_ms();
    for (; now_ms() < end; nap_ms(TICK_MS)) { /* the moments of the harm, not a synchronisation */
        for (int i = 0; i < hosts_nr; i++)
            if (slots[i].state != SLOT_UP && now_ms() >= slots[i].until_ms) heal(&slots[i]);
        if (now_ms() < next) continue;
        struct slot *s = &slots[client_chance(rng, (uint64_t)hosts_nr)];
        if (s->state == SLOT_UP) harm(s, rng, out);
        next = now_ms() + 50 + (int64_t)client_chance(rng, 1200);
        arena_reset(test_arena());
    }
    for (int round = 0; round < 2; round++) /* the frozen ones first */
        for (int i = 0; i < hosts_nr; i++)
            if (slots[i].state != SLOT_UP) heal(&slots[i]);
}

void hosts_stop(void) {
    for (int i = 0; i < hosts_nr; i++) {
        port_set(&slots[i], 0);
        cr_expect_eq(server_stop(&slots[i].sv), 0, "host %d did not stop as it should", i);
        slots[i].state = SLOT_DOWN;
    }
}

void hosts_last(void) {
    *slots[0].clock.offset_ms = 0;
    up(&slots[0]);
}

void hosts_delete(void) {
    for (int i = 1; i < hosts_nr; i++) server_kill(&slots[i].sv);
    if (slots[0].state == SLOT_STOPPED) server_thaw(&slots[0].sv);
    server_end(&slots[0].sv);
}
