/*
 * chaos.c: one host, or three hosts on one file, under workers and clients that create, resolve,
 * cancel, pause and fork, while hosts are killed, stopped, frozen beyond their leases and started
 * with clocks that are wrong.  Afterwards nothing acknowledged is lost and nothing happened twice.
 * EVT-2, EVT-7, HTTP-15, IDEM-12, INT-18, INT-41, STORE-30..40, STORE-42, FORK-12, WRK-10..23,
 * HOOK-9..12.
 * WOPR_CHAOS_SECONDS: how long (default 10).  WOPR_CHAOS_SEED repeats requests and harm; what a
 * kill hits depends on the machine too.
 */
#include "world.h"

#include <stdio.h>

enum { SECONDS_DEFAULT = 10 };

static void up(void) {
    peer = peer_start();
    hosts_start();
}
static void up_one(void) {
    hosts_nr = 1;
    up();
}
static void down(void) {
    hosts_delete();
    peer_stop(peer);
}
TestSuite(chaos, .init = up, .fini = down, .timeout = 1800);
TestSuite(chaos_alone, .init = up_one, .fini = down, .timeout = 1800);

static void storm_survive(void) {
    const uint64_t seed = client_number("WOPR_CHAOS_SEED", 20261121);
    const int64_t seconds = (int64_t)client_number("WOPR_CHAOS_SECONDS", SECONDS_DEFAULT);
    uint64_t rng = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    struct storm storm = {0};
    pthread_t threads[CLIENTS];
    unsigned ops = 0;
    fprintf(stderr, "chaos: seed %llu, %lld seconds\n", (unsigned long long)seed,
            (long long)seconds);
    actors_init(seed);
    workers_start(seed);
    hooks_start(seed);
    for (int i = 0; i < CLIENTS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, actor_main, &clients[i]), 0);
    hosts_storm(&rng, seconds * 1000, &storm);
    atomic_store(&actors_stop, true);
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        cr_assert_str_eq(clients[i].wrong, "", "%s", clients[i].wrong);
        ops += (unsigned)clients[i].ops_nr;
    }
    workers_calm();
    hooks_calm();
    checks_wait_quiet(); /* the hosts that are left finish what the harmed ones began */
    hosts_stop();
    hosts_last();
    actors_settle();
    fprintf(stderr, "chaos: %u requests answered\n", ops);
    checks_wait_quiet();
    replays_check(&slots[0].sv);
    workers_stop();
    checks_runs();
    journal_check(&slots[0].sv);
    hooks_check(&slots[0].sv);
    checks_interrupts();
    checks_outside(&storm);
    hosts_stop();
    checks_bytes();
    checks_file();
    hosts_last(); /* for the folder's owner to stop */
    actors_free();
}

Test(chaos, nothing_is_lost_and_nothing_happens_twice) { storm_survive(); }

Test(chaos_alone, nothing_is_lost_by_one_host_either) { storm_survive(); }
