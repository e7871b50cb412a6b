/* main.c: wopr-bench: options and the table of figures. */
#include "bench.h"

#include <signal.h>
#include <stdlib.h>

static const struct figure {
    const char *name;
    int (*run)(const struct options *);
    const char *help;
} FIGURES[] = {
    {"accepted", cmd_accepted, "POST /v1/runs a second, closed loop"},
    {"completed", cmd_completed, "runs from creation to their end a second, fixed work"},
    {"flat", cmd_flat, "cost per run, first slice against last"},
    {"reads", cmd_reads, "GET /v1/runs/{id} a second, closed loop"},
    {"latency", cmd_latency, "POST /v1/runs at --rate, open loop"},
    {"first-event", cmd_first_event, "create to first SSE event at --rate, open loop"},
    {"replays", cmd_replays, "event streams of one finished run per second"},
    {"accepted-beside", cmd_accepted_beside, "accepted, beside --streams silent SSE streams"},
    {"idle-streams", cmd_idle_streams, "memory and CPU of --streams silent SSE streams (--pid)"},
    {"fanout", cmd_fanout, "latency of one event to --streams SSE streams"},
    {"long-run", cmd_long_run, "cost per event in one run of --runs events"},
    {"interrupts", cmd_interrupts, "runs stopped at a gate, resolved and completed a second"},
    {"forks", cmd_forks, "forks a second by length of the source, and replays"},
    {"takeover", cmd_takeover,
     "two hosts --wopr on --db, one killed or stopped: until the other has its runs"},
    {"answers", cmd_answers,
     "a host --wopr on --db: from the answer to the end of runs that rest, by their length"},
    {"webhooks", cmd_webhooks,
     "a host --wopr on --db: deliveries a second to 1, 4 and 16 webhooks, and runs beside them"},
    {"telemetry", cmd_telemetry,
     "a host --wopr on --db: runs a second and CPU of a run, with telemetry and without"},
    {"requests", cmd_requests,
     "a host --wopr on --db: runs of one request to the outside each, a second"},
    {"packs", cmd_packs,
     "a host --wopr on --db: modules of packs a second, and those beside a hostile one"},
    {"memory", cmd_memory, "resident memory of --pid"},
    {"startup", cmd_startup, "start of --wopr with --db to its first answer"},
    {"validation", cmd_validation, "cost of checking event payloads (in this process)"},
    {"workspec", cmd_workspec,
     "cost of a task of WorkSpec documents, by their size (in this process)"},
    {"sessions", cmd_sessions,
     "a look for earlier work among --runs sessions on a new --db (in this process)"},
    {"sqlite", cmd_sqlite, "yardstick: bare SQLite loop on a new --db"},
    {"fill", cmd_fill, "fill --db with ended runs up to --bytes (not a figure)"},
    {"bare", cmd_bare, "yardstick server: bare libmicrohttpd on --port, --threads"},
    {"echo", cmd_echo, "yardstick: requests a second for --method --path"},
    {"port", cmd_port, "print a free loopback port"},
};

enum option_type { OPTION_TEXT, OPTION_INT, OPTION_REAL };
static const struct option_row {
    const char *name;
    enum option_type type;
    size_t offset;
    double min, max;
    const char *help;
} OPTIONS[] = {
#define TEXT(f, n, h)                                                                              \
    { n, OPTION_TEXT, offsetof(struct options, f), 0, 0, h }
#define INT(f, n, min, max, h)                                                                     \
    { n, OPTION_INT, offsetof(struct options, f), min, max, h }
#define REAL(f, n, max, h)                                                                         \
    { n, OPTION_REAL, offsetof(struct options, f), 0, max, h }
    TEXT(url, "--url", "host to measure, http://ADDRESS:PORT"),
    TEXT(key, "--key", "its API key"),
    TEXT(workflow, "--workflow", "workflow of the runs (conformance-noop)"),
    TEXT(inputs, "--inputs", "inputs of a run that is streamed, JSON ({})"),
    REAL(seconds, "--seconds", BENCH_SECONDS_MAX, "window (5)"),
    REAL(warmup, "--warmup", BENCH_SECONDS_MAX, "warm-up before it (1)"),
    REAL(rate, "--rate", 1e6, "requests a second of open-loop figures (200)"),
    INT(connections, "--connections", 1, BENCH_CONNS_MAX, "keep-alive connections (64)"),
    INT(runs, "--runs", 1, BENCH_RUNS_MAX, "runs, or events of the long run (20000)"),
    INT(slices, "--slices", 1, 100, "slices of flat and long-run (10)"),
    INT(streams, "--streams", 1, BENCH_STREAMS_MAX, "SSE streams (1000)"),
    INT(rounds, "--rounds", 1, 10000, "events of fanout, starts of startup or takeover (20)"),
    INT(pid, "--pid", 1, 1e9, "process of the host, for memory and CPU"),
    INT(threads, "--threads", 1, 64, "threads of the bare server (2)"),
    INT(port, "--port", 0, 65535, "port of the bare server (0: any)"),
    INT(bytes, "--bytes", 1, 1e12, "size for fill (1 GiB)"),
    TEXT(path, "--path", "yardsticks: path to ask for or subscribe to"),
    TEXT(pub, "--pub", "yardsticks: path to publish to"),
    TEXT(method, "--method", "yardsticks: GET or POST (GET)"),
    TEXT(db, "--db", "database file"),
    TEXT(wopr, "--wopr", "program to start"),
    TEXT(sync, "--sync", "synchronous of the SQLite yardstick (full)"),
    TEXT(label, "--label", "name of what is measured, for the table"),
    TEXT(commit, "--commit", "commit that is measured, for the result file"),
    TEXT(json, "--json", "result file to write"),
};
enum { OPTIONS_NR = sizeof OPTIONS / sizeof OPTIONS[0] };
enum { FIGURES_NR = sizeof FIGURES / sizeof FIGURES[0] };

static int usage(FILE *f) {
    fputs("usage: wopr-bench FIGURE [OPTIONS]   (figures are defined in bench/BENCHMARKS.md)\n\n",
          f);
    for (int i = 0; i < FIGURES_NR; i++)
        fprintf(f, "  %-14s %s\n", FIGURES[i].name, FIGURES[i].help);
    fputs("\n", f);
    for (int i = 0; i < OPTIONS_NR; i++)
        fprintf(f, "  %-14s %s\n", OPTIONS[i].name, OPTIONS[i].help);
    return 2;
}

static bool option_set(struct options *o, const struct option_row *row, const char *value) {
    char *slot = (char *)o + row->offset;
    char *end;
    if (row->type == OPTION_TEXT) {
        *(const char **)(void *)slot = value;
        return true;
    }
    double v = strtod(value, &end);
    if (end == value || *end != '\0' || !(v >= row->min && v <= row->max)) return false;
    if (row->type == OPTION_INT) *(int64_t *)(void *)slot = (int64_t)v;
    else *(double *)(void *)slot = v;
    return true;
}

static bool options_parse(struct options *o, int argc, char **argv) {
    for (int i = 2; i < argc; i += 2) {
        const struct option_row *row = NULL;
        for (int k = 0; k < OPTIONS_NR; k++)
            if (strcmp(argv[i], OPTIONS[k].name) == 0) row = &OPTIONS[k];
        if (!row || i + 1 == argc || !option_set(o, row, argv[i + 1])) {
            fprintf(stderr, "wopr-bench: bad option %s; run wopr-bench without arguments\n",
                    argv[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv) {
    struct options o = {.workflow = "conformance-noop",
                        .method = "GET",
                        .sync = "full",
                        .seconds = 5,
                        .warmup = 1,
                        .rate = 200,
                        .connections = 64,
                        .runs = 20000,
                        .slices = 10,
                        .streams = 1000,
                        .rounds = 20,
                        .threads = 2,
                        .bytes = 1 << 30,
                        .argc = argc,
                        .argv = argv};
    if (argc < 2) return usage(stderr);
    if (strcmp(argv[1], "--help") == 0) return usage(stdout), 0;
    if (!options_parse(&o, argc, argv)) return 2;
    (void)signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < FIGURES_NR; i++)
        if (strcmp(argv[1], FIGURES[i].name) == 0) return FIGURES[i].run(&o);
    fprintf(stderr, "wopr-bench: there is no figure %s\n", argv[1]);
    return usage(stderr);
}
