/* rows_slots.c: connections and slots: findings S1, S4, S5, H6, H7. */
#include "rows.h"

#include <stdio.h>
#include <unistd.h>

enum {
    BURSTS = 5,
    BURST_HELD_MS = 300,
    FRESH = 60,
    FRESH_WAIT_MS = 3000,
    TRICKLE_SMALL_MS = 2500,
    TRICKLE_SMALL_STEP_MS = 200,
    TRICKLE_FULL_MS = 75000,
    TRICKLE_FULL_STEP_MS = 25000,
    HOLD_SMALL_MS = 1500,
    HOLD_FULL_MS = 65000,
    POLL_BATCH = 64,
    LATE_WAIT_MS = 5000
};

static const char PARTIAL_HEAD[] = "GET / HTTP/1.1\r\nX: ";

/* Every one of many fresh connections is answered: no loop is deaf (S1). */
static void all_answer(struct world *w, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int status = net_once(w->host.port, FROM_BETA, w->host.beta, "GET", "/v1/runs?limit=1",
                              STR_NONE, FRESH_WAIT_MS);
        if (status != 200) wrong(w, "fresh connection %zu of %zu is answered %d", i, n, status);
    }
}

void attack_burst(struct world *w) {
    const int listeners = host_listeners(&w->host);
    for (int i = 0; i < BURSTS; i++) {
        struct swarm s;
        swarm_open(&s, w->host.port, FROM_ATTACKER, w->n, str_c(PARTIAL_HEAD));
        w->served += s.open;
        w->refused += s.refused;
        nap_ms(BURST_HELD_MS);
        swarm_close(&s, false);
    }
    int now = 0;
    for (int64_t end = now_ms() + FRESH_WAIT_MS; now < listeners && now_ms() < end; nap_ms(20))
        now = host_listeners(&w->host);
    if (now < listeners) wrong(w, "%d of %d loops listen", now, listeners);
    else all_answer(w, FRESH);
}

/* A byte now and then on every connection; those that are cut are the refusals. */
void attack_head_trickle(struct world *w) {
    const int64_t end = now_ms() + (w->full ? TRICKLE_FULL_MS : TRICKLE_SMALL_MS);
    struct swarm s;
    swarm_open(&s, w->host.port, FROM_ATTACKER, w->n, str_c(PARTIAL_HEAD));
    while (now_ms() < end) {
        swarm_send(&s, str_c("x"));
        nap_ms(w->full ? TRICKLE_FULL_STEP_MS : TRICKLE_SMALL_STEP_MS);
    }
    w->refused += swarm_cut(&s);
    w->served += s.n - w->refused;
    swarm_close(&s, true);
}

/* A part of a head and the end of the stream, in one go: nobody is there any more. */
void attack_half_closed(struct world *w) {
    const int before = host_fds(&w->host);
    for (size_t i = 0; i < w->n; i++) {
        int fd = net_dial(w->host.port, FROM_ATTACKER);
        if (fd >= 0 && net_send(fd, PARTIAL_HEAD, sizeof PARTIAL_HEAD - 1)) w->served++;
        else w->refused++;
        net_close(fd, false);
    }
    nap_ms(1000);
    note(w, "%d descriptors held a second later", host_fds(&w->host) - before);
}

static void hold(struct world *w, struct swarm *s) {
    nap_ms(w->full ? HOLD_FULL_MS : HOLD_SMALL_MS);
    w->refused += swarm_cut(s);
    w->served += s->n - w->refused;
    swarm_close(s, true);
}

/* The 401 is decided with the head; the body that does not come must not hold a slot (S5, H6). */
void attack_anonymous_bodies(struct world *w) {
    static const char head[] = "POST /v1/runs HTTP/1.1\r\nHost: attack.test\r\nContent-Type: "
                               "application/json\r\nContent-Length: 1000\r\n\r\n{";
    struct swarm s;
    swarm_open(&s, w->host.port, FROM_ATTACKER, w->n, str_c(head));
    hold(w, &s);
}

/* The listener that an orchestrator asks. */
void attack_ops_idle(struct world *w) {
    struct swarm s;
    swarm_open(&s, w->host.ops_port, FROM_ATTACKER, w->n, STR_NONE);
    w->served += s.open;
    w->refused += s.refused;
    for (int i = 0; i < 3; i++)
        if (net_once(w->host.ops_port, FROM_BETA, NULL, "GET", "/healthz", STR_NONE, 2000) != 200)
            wrong(w, "/healthz is not answered beside %zu idle connections", w->n);
    swarm_close(&s, true);
}

/* Long polls whose caller is gone at once: they must not keep a slot (S4). */
void attack_closed_polls(struct world *w) {
    char id[ID_BYTES], text[512];
    if (!alpha_run(w, "attack-sleep", NULL, id)) GIVE_UP(w, "no run to poll");
    snprintf(text, sizeof text,
             "GET /v1/runs/%s/events/poll?timeout=60&lastSequence=9999 HTTP/1.1\r\n"
             "Host: attack.test\r\nAuthorization: Bearer %s\r\n\r\n",
             id, w->host.alpha);
    for (size_t done = 0; done < w->n; done += POLL_BATCH) {
        struct swarm s;
        swarm_open(&s, w->host.port, FROM_ATTACKER, POLL_BATCH, str_c(text));
        nap_ms(20); /* until they are parked */
        w->refused += swarm_cut(&s);
        w->served += s.open;
        swarm_close(&s, false);
    }
    w->served -= w->refused < w->served ? w->refused : w->served;
    nap_ms(w->full ? 5000 : 500);
    alpha_cancel_all(w);
}

/* A stream from behind the last event must end with its run (H7), a poll as well (H8). */
void attack_late_streams(struct world *w) {
    char id[ID_BYTES], text[512], poll[512];
    struct swarm streams, polls;
    if (!alpha_run(w, "attack-sleep", NULL, id)) GIVE_UP(w, "no run to stream");
    snprintf(text, sizeof text,
             "GET /v1/runs/%s/events HTTP/1.1\r\nHost: attack.test\r\nAccept: text/event-stream\r\n"
             "Last-Event-ID: 9999\r\nAuthorization: Bearer %s\r\n\r\n",
             id, w->host.alpha);
    snprintf(poll, sizeof poll,
             "GET /v1/runs/%s/events/poll?timeout=60&lastSequence=9999 HTTP/1.1\r\n"
             "Host: attack.test\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n",
             id, w->host.alpha);
    swarm_open(&streams, w->host.port, FROM_ATTACKER, w->n, str_c(text));
    swarm_open(&polls, w->host.port, FROM_ATTACKER, w->n, str_c(poll));
    nap_ms(200);
    alpha_cancel_all(w);
    size_t open = 2 * w->n;
    for (int64_t end = now_ms() + LATE_WAIT_MS; open > 0 && now_ms() < end; nap_ms(50)) {
        open = polls.n - swarm_cut(&polls);
        for (size_t i = 0; i < streams.n; i++) { /* read what came: the end comes behind it */
            struct buf b;
            buf_init(&b, 1 << 16);
            if (streams.fds[i] >= 0 && net_read(streams.fds[i], &b, 1) == 0) {
                char c;
                if (read(streams.fds[i], &c, 1) == 0) {
                    net_close(streams.fds[i], false);
                    streams.fds[i] = -1;
                }
            }
            open += streams.fds[i] >= 0;
            buf_fini(&b);
        }
    }
    w->served += 2 * w->n;
    if (open > 0) wrong(w, "%zu of %zu streams and polls outlive their run", open, 2 * w->n);
    swarm_close(&streams, true);
    swarm_close(&polls, true);
}
