/*
 * attack.h: the words of tests/attack (DESIGN.md there).  Tenant alpha attacks a real host over
 * loopback, tenant beta works beside it and is measured; afterwards the host must be as before.
 * No framework: a row of the table is a function, and what it finds is told by wrong().
 */
#ifndef WOPR_TESTS_ATTACK_H
#define WOPR_TESTS_ATTACK_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "codec/json.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    ARGS_MAX = 48,
    ID_BYTES = 64,
    KEY_BYTES = 160,
    ANSWER_WAIT_MS = 20000,
    PROBE_NAP_MS = 5, /* between beta's rounds */
    ANSWER_BYTES_MAX = 64 << 20,
    /* Source addresses, so that a share per address has somebody to tell apart. */
    FROM_BETA = 1,    /* 127.0.0.1 */
    FROM_ATTACKER = 2 /* 127.0.0.2 */
};

/* --- host.c: the process under attack --- */
struct host {
    pid_t pid;
    int port, ops_port;
    char dir[200], db[240];
    char alpha[KEY_BYTES], beta[KEY_BYTES]; /* keys */
};
struct host_start {
    const char *binary;
    const char *const *args; /* more settings, NULL-terminated, may be NULL */
    unsigned files;          /* RLIMIT_NOFILE, soft; 0 = ours */
    const char *resolv;      /* text of its own /etc/resolv.conf; NULL = the machine's */
    bool packs;              /* alpha and beta have installed those of packs.c */
};
#define CLOCK_FILE "clock" /* as an argument: the path of a clock file in the host's folder */
/* A fresh folder with two keys and a host in it; false and a sentence in why. */
bool host_up(struct host *h, const struct host_start *s, char *why, size_t why_size);
/* SIGTERM; how long it took, its exit status (-1: had to be killed). */
int host_stop(struct host *h, int64_t wait_ms, int64_t *took_ms);
int host_verify(const struct host *h, const char *binary, struct buf *out); /* exit status */
int run_to_end(const char *const *argv, const char *out, const char *err);  /* exit status */
void host_remove(struct host *h);                                           /* the folder */
bool host_may_have_resolv(void);        /* root, and mount namespaces are allowed */
int64_t host_rss(const struct host *h); /* bytes */
int64_t host_cpu_ms(const struct host *h);
int host_fds(const struct host *h);
int host_listeners(const struct host *h); /* listening sockets that some event loop watches */
int64_t host_disk(const struct host *h);  /* bytes of database and WAL */
void host_log(const struct host *h, struct buf *out); /* its stderr so far */

/* --- packs.c --- */
bool packs_install(const struct host *h, const char *binary);

/* --- net.c: sockets and one HTTP exchange --- */
struct line { /* a connection that is kept and dialled again when it is gone */
    int port, from, fd;
    struct buf in;
};
struct request {
    const char *method, *path, *key; /* key NULL: anonymous */
    const char *headers;             /* whole lines with CRLF, may be NULL */
    struct str body;                 /* n 0: none */
    int wait_ms;                     /* 0 = ANSWER_WAIT_MS */
    bool close;                      /* ask for it, and do it */
};
void line_init(struct line *l, int port, int from);
void line_fini(struct line *l);
/* Status of a whole answer, 0 when none came; *body borrows l until its next use. */
int line_ask(struct line *l, const struct request *q, struct str *body);
int net_dial(int port, int from);                    /* blocking, -1 when refused or late */
bool net_send(int fd, const void *p, size_t n);      /* all of it, bounded */
void net_close(int fd, bool reset);                  /* reset: RST instead of FIN */
int net_listen(int *port);                           /* loopback, any port */
size_t net_read(int fd, struct buf *b, int wait_ms); /* to the end, or that long */
int net_once(int port, int from, const char *key, const char *method, const char *path,
             struct str body, int wait_ms); /* status on a connection of its own */
void nap_ms(int ms);                        /* inside bounded polling, and to pace an attack */
int64_t now_ms(void);

/* Many connections at once. */
struct swarm {
    int *fds;
    size_t n, open, refused;
};
void swarm_open(struct swarm *s, int port, int from, size_t n, struct str first);
/* As above, from sockets that take next to nothing: what is sent stays with the host. */
void swarm_open_deaf(struct swarm *s, int port, int from, size_t n, struct str first);
void swarm_send(struct swarm *s, struct str bytes); /* to all that still take it */
void swarm_close(struct swarm *s, bool reset);
size_t swarm_cut(struct swarm *s); /* connections the host has ended or answered */

/* --- probe.c: beta at work, and what it was told --- */
struct samples { /* microseconds */
    uint32_t *v;
    size_t n, cap;
};
void samples_add(struct samples *s, uint64_t us);
double samples_ms(struct samples *s, double share); /* sorts; 0 without any */
struct ledger {                                     /* runs that were acknowledged with 201 */
    char (*ids)[ID_BYTES];
    size_t n, cap;
};
void ledger_add(struct ledger *l, const char *id);
struct probe {
    const struct host *host;
    struct samples create, read, end; /* end: request to create -> the run has ended */
    struct ledger acked;
    int wait_ms; /* then a request counts as unanswered */
    bool ends;   /* its runs take several turns, and their end is waited for */
    size_t asked, unanswered, refused; /* refused: 429 and 503 */
    atomic_size_t rounds;
    atomic_bool stop;
    pthread_t thread;
};
void probe_init(struct probe *p, const struct host *h, int wait_ms, bool ends);
void probe_start(struct probe *p);
void probe_stop(struct probe *p);
void probe_once(struct probe *p); /* one create and one read, each on a fresh connection */
void probe_fini(struct probe *p);
bool run_id_in(struct str body, char id[ID_BYTES]);
bool run_ended(struct str snapshot);

/* --- the table --- */
struct world;
struct attack {
    const char *name, *finding, *says;
    size_t small, full;            /* the size run() gets */
    const char *const *small_args; /* settings for the small size */
    const char *const *full_args;  /* and for the full one */
    void (*run)(struct world *w);
    unsigned small_files, full_files; /* RLIMIT_NOFILE of the host, 0 = ours */
    const char *resolv;
    unsigned flags;
};
enum {                   /* flags */
       BETA_WAITS = 1,   /* one burst takes it all: only afterwards counts */
       BETA_FORGETS = 2, /* the clock jumps: what was acknowledged before may be gone */
       NEEDS_ROOT = 4,   /* a resolver of its own takes a mount namespace */
       FULL_ONLY = 8,    /* takes more than a minute at any size */
       RUNS_ONCE = 16,   /* it counts what it did: the bench does not repeat it */
       BETA_ENDS = 32,   /* the time until beta's runs have ended is judged, too */
       WITH_PACKS = 64   /* packs are installed */
};
extern const struct attack ATTACKS[];
extern const size_t ATTACKS_NR;

struct world {
    const struct attack *row;
    struct host host;
    struct line alpha;              /* of the attacker */
    struct line beta;               /* for checks, not for the clock */
    struct ledger acked;            /* alpha's runs that must still be there */
    size_t n;                       /* size of this attack */
    bool full, slow;                /* slow: an instrumented host */
    size_t served, refused, silent; /* the attacker's requests */
    int64_t disk_before;
    int wrongs, lates; /* lates: those of them that are about time */
    char why[900];     /* the first things that were wrong */
    char note[200];
};
void wrong(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define GIVE_UP(w, ...)                                                                            \
    do {                                                                                           \
        wrong(w, __VA_ARGS__);                                                                     \
        return;                                                                                    \
    } while (0)
void note(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A request of alpha; counted as served, refused (4xx, 503) or silent. */
int alpha_ask(struct world *w, const char *method, const char *path, struct str body,
              struct str *answer);
/* Create a run of alpha; false when it was refused.  more: further members of the body, or NULL. */
bool alpha_run(struct world *w, const char *workflow, const char *more, char id[ID_BYTES]);
/* Until the run has this status ("" = any end); bounded. */
bool alpha_wait(struct world *w, const char *id, const char *status, int wait_ms);
void alpha_cancel_all(struct world *w); /* what was acknowledged */
/* Text of n bytes made of repeated pieces, in *b. */
void fill(struct buf *b, const char *piece, size_t n);
/* The same attack from several threads. */
void in_parallel(struct world *w, unsigned threads, void (*one)(struct world *w, unsigned no));

/* --- heads.c: heads that proxies and servers read differently --- */
enum verdict {
    REFUSE,      /* 4xx or 5xx and the connection closes: nothing behind it is read */
    ONE_REQUEST, /* one message; what follows it is the next one */
    EITHER       /* the specification leaves both */
};
struct head {
    const char *name;
    const char *bytes; /* HOST and KEY in it stand for lines; see heads.c */
    size_t n;
    enum verdict verdict;
};
extern const struct head HEADS[];
extern const size_t HEADS_NR;
/* The bytes of head i with the host's name and a key put in. */
void head_bytes(const struct head *h, const char *key, struct buf *out);

/* --- exchange.c: one such head on a connection of its own, a marker behind it --- */
struct seen {
    int status;            /* of the first answer, 0 = none */
    size_t answers;        /* final ones */
    bool marker, smuggled; /* was that request answered? */
    bool proxy;            /* an error page of the proxy itself */
    bool closed;           /* by the other side, in time */
};
void head_exchange(int port, int from, const char *key, const struct head *h, int wait_ms,
                   struct seen *out);

#endif
