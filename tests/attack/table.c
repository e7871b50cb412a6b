/*
 * table.c: one row per attack.  Sizes: small meets the same bounds by smaller settings; full is the
 * size as it was found.
 */
#include "rows.h"

#define LIST(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define SMALL(...)  .small_args = LIST(__VA_ARGS__)
#define ALWAYS(...) .small_args = LIST(__VA_ARGS__), .full_args = LIST(__VA_ARGS__)
#define NO_SETTINGS .small_args = NULL
#define LONG_LOGS   "--max-node-executions", "2000000"
#define ROW(id, where, small_n, full_n, fn, text, ...)                                             \
    {                                                                                              \
        .name = id, .finding = where, .says = text, .small = small_n, .full = full_n, .run = fn,   \
        __VA_ARGS__                                                                                \
    }

static const char SILENT_RESOLVER[] = "nameserver 127.0.0.91\noptions timeout:10 attempts:2\n";

const struct attack ATTACKS[] = {
    ROW("burst-files", "S1", 600, 2600, attack_burst,
        "connections beyond the limit of files, closed at once", .small_files = 300,
        .full_files = 1024, .flags = BETA_WAITS),
    ROW("burst-connections", "S1", 30, 30, attack_burst,
        "connections beyond connections-max, closed at once", ALWAYS("--connections-max", "20"),
        .flags = BETA_WAITS),
    ROW("redactor-bomb", "S2", 200000, 1000000, attack_redactor,
        "eyJ-eyJ-... in the inputs of two runs", NO_SETTINGS),
    ROW("known-bomb", "S2", 600000, 600000, attack_known,
        "a credential a...ab against inputs aaaa...", NO_SETTINGS),
    ROW("overlay-bomb", "S2", 20000, 20000, attack_overlay,
        "a branch with n options over n other options", NO_SETTINGS),
    ROW("closed-polls", "S4", 192, 4160, attack_closed_polls,
        "long polls whose callers are gone at once", SMALL("--requests-max", "128")),
    ROW("late-streams", "H7 H8", 20, 200, attack_late_streams,
        "streams and polls from behind the end of a run", NO_SETTINGS),
    ROW("head-trickle", "S5", 300, 12000, attack_head_trickle,
        "a byte of a head now and then, on every connection", SMALL("--connections-max", "200")),
    ROW("half-closed-heads", "S5", 180, 1000, attack_half_closed, "a part of a head, then close()",
        SMALL("--connections-max", "1200")),
    ROW("anonymous-bodies", "S5 H6", 160, 4150, attack_anonymous_bodies,
        "bodies that do not come, without a key", SMALL("--requests-max", "128")),
    ROW("ops-idle", "S5", 70, 70, attack_ops_idle, "idle connections to the operations listener",
        NO_SETTINGS),
    ROW("unread-snapshots", "S6", 40, 400, attack_unread_snapshots,
        "snapshots of a big run that nobody reads", NO_SETTINGS),
    ROW("unread-polls", "S6", 40, 200, attack_unread_polls, "polls of a big run that nobody reads",
        NO_SETTINGS),
    ROW("unread-values", "S6", 40, 300, attack_unread_values,
        "values streams of a big run that nobody reads", NO_SETTINGS),
    ROW("sleeping-runs", "S6", 60, 300, attack_sleeping_runs,
        "sleeping runs with a big variable, then cancelled", NO_SETTINGS),
    ROW("pause-growth", "S7", 100, 3000, attack_pause_growth,
        "pauses with long reasons: one run grows", NO_SETTINGS),
    ROW("fork-storm", "S7", 100, 3000, attack_fork_storm, "forks of a run that has grown so",
        NO_SETTINGS),
    ROW("ask-flood", "S7", 75, 75, attack_ask_flood, "questions by interrupt token, without a key",
        NO_SETTINGS),
    ROW("framing", "S8 H5", 1, 1, attack_framing, "the list of hostile heads", NO_SETTINGS),
    ROW("parameters", "H1", 6000, 20000, attack_parameters,
        "a query of many parameters, without a key", NO_SETTINGS),
    ROW("cookies", "H1", 6000, 20000, attack_cookies, "many cookies, without a key", NO_SETTINGS),
    ROW("near-limit-heads", "H2", 40, 40, attack_near_limit,
        "heads around the size that leaves no room for an answer", NO_SETTINGS, .flags = RUNS_ONCE),
    ROW("half-close", "H4", 600, 600, attack_half_close,
        "requests whose callers close their half at once", NO_SETTINGS),
    ROW("refused-bodies", "H11 H12", 200, 2000, attack_refused_bodies,
        "large bodies with a wrong key, from slow writers", NO_SETTINGS),
    ROW("hanging-transfers", "S10", 260, 260, attack_hanging_transfers,
        "requests to a server that says nothing", ALWAYS("--egress-allow", "127.0.0.0/8")),
    ROW("hanging-names", "S10", 3, 3, attack_hanging_names,
        "requests to a name that does not resolve", ALWAYS("--egress-allow", "127.0.0.0/8"),
        .resolv = SILENT_RESOLVER, .flags = NEEDS_ROOT),
    ROW("cancelled-replays", "S11", 60, 300, attack_cancelled_replays,
        "replays that are cancelled at once", NO_SETTINGS),
    ROW("run-flood", "13.9", 4000, 60000, attack_run_flood,
        "runs of several turns are started without a pause", NO_SETTINGS, .flags = BETA_ENDS),
    ROW("tag-listing", "S14", 2000, 60000, attack_tag_listing, "lists by a tag that no run has",
        NO_SETTINGS),
    ROW("foreign-interrupts", "S14", 1500, 40000, attack_foreign_interrupts,
        "an empty list beside many waiting runs of others", NO_SETTINGS),
    ROW("values-openers", "S14", 1500, 6000, attack_values_openers,
        "values streams with a position in a long run", ALWAYS(LONG_LOGS)),
    ROW("costly-conditions", "F6", 4, 40, attack_costly_conditions,
        "runs with 120 conditions that backtrack", NO_SETTINGS),
    ROW("costly-values", "F7", 4, 40, attack_costly_values,
        "values streams of a finished run of that kind", NO_SETTINGS),
    ROW("hostile-modules", "15", 22, 220, attack_modules,
        "runs of modules that take all time and memory, and say too much",
        SMALL("--wasm-time-ms", "400"), .full_args = LIST("--wasm-time-ms", "2000"),
        .flags = WITH_PACKS),
    ROW("purge", "S14", 10000, 200000, attack_purge, "a run with a long log is deleted",
        ALWAYS(LONG_LOGS, "--retention-days", "7", "--clock-file", CLOCK_FILE),
        .flags = BETA_FORGETS | FULL_ONLY),
};
const size_t ATTACKS_NR = sizeof ATTACKS / sizeof *ATTACKS;
