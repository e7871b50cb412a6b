/* rows_bytes.c: memory and disk: findings S6 and S7. */
#include "rows.h"

#include <stdio.h>

enum {
    BLOB_SMALL = 900000,
    BLOB_FULL = 1000000,
    REASON = 4000,
    FORKS_SMALL = 10,
    FORKS_FULL = 40,
    ASK_BYTES = 900000,
    UNREAD_MS = 1500,
    WAIT_MS = 30000
};

static void blob(const struct world *w, struct buf *b) {
    buf_init(b, 4u << 20);
    buf_addz(b, "\"inputs\":{\"blob\":\"");
    fill(b, "0123456789abcde ", w->full ? BLOB_FULL : BLOB_SMALL);
    buf_addz(b, "\"}");
}

static bool big_run(struct world *w, const char *workflow, char id[ID_BYTES]) {
    struct buf b;
    blob(w, &b);
    bool ok = alpha_run(w, workflow, buf_str(&b).p, id);
    buf_fini(&b);
    return ok;
}

/* n requests whose answers nobody reads. */
static void unread(struct world *w, const char *tail, const char *accept) {
    char id[ID_BYTES], text[512];
    struct swarm s;
    if (!big_run(w, "attack-big", id) || !alpha_wait(w, id, "running", WAIT_MS))
        GIVE_UP(w, "no run with a big state");
    nap_ms(100); /* until it sleeps */
    snprintf(
        text, sizeof text,
        "GET /v1/runs/%s%s HTTP/1.1\r\nHost: attack.test\r\n%sAuthorization: Bearer %s\r\n\r\n", id,
        tail, accept, w->host.alpha);
    swarm_open_deaf(&s, w->host.port, FROM_ATTACKER, w->n, str_c(text));
    nap_ms(w->full ? 4 * UNREAD_MS : UNREAD_MS);
    for (size_t i = 0; i < s.n; i++) {
        struct buf b;
        buf_init(&b, 1 << 16);
        if (s.fds[i] >= 0) (void)net_read(s.fds[i], &b, 1);
        if (b.len > 12 && strncmp(b.p + 9, "200", 3) == 0) w->served++;
        else if (b.len > 12) w->refused++;
        else w->silent++;
        buf_fini(&b);
    }
    swarm_close(&s, true);
    alpha_cancel_all(w);
}

void attack_unread_snapshots(struct world *w) { unread(w, "", ""); }
void attack_unread_polls(struct world *w) {
    unread(w, "/events/poll?timeout=1&lastSequence=0", "");
}
void attack_unread_values(struct world *w) {
    unread(w, "/events?streamMode=values", "Accept: text/event-stream\r\n");
}

void attack_sleeping_runs(struct world *w) {
    char id[ID_BYTES];
    for (size_t i = 0; i < w->n; i++) (void)big_run(w, "attack-sleep", id);
    alpha_cancel_all(w); /* what was accepted and is over now must not stay in memory */
}

/* --- S7 --- */

static void grow(struct world *w, const char *id) {
    struct buf b;
    char pause[128], resume[128];
    snprintf(pause, sizeof pause, "/v1/runs/%s:pause", id);
    snprintf(resume, sizeof resume, "/v1/runs/%s:resume", id);
    buf_init(&b, 1 << 16);
    buf_addz(&b, "{\"reason\":\"");
    fill(&b, "long ", REASON);
    buf_addz(&b, "\"}");
    for (size_t i = 0; i < w->n; i++) {
        int one = alpha_ask(w, "POST", pause, buf_str(&b), NULL);
        int two = alpha_ask(w, "POST", resume, str_c("{}"), NULL);
        if (one >= 400 && two >= 400) break; /* a bound was met */
    }
    buf_fini(&b);
}

void attack_pause_growth(struct world *w) {
    char id[ID_BYTES];
    if (!alpha_run(w, "attack-sleep", NULL, id)) GIVE_UP(w, "no run to pause");
    grow(w, id);
    alpha_cancel_all(w);
}

/* The bytes that a fork of a few bytes writes. */
void attack_fork_storm(struct world *w) {
    char id[ID_BYTES], path[128], body[96];
    if (!alpha_run(w, "attack-sleep", NULL, id)) GIVE_UP(w, "no run to fork");
    grow(w, id);
    struct str snap;
    snprintf(path, sizeof path, "/v1/runs/%s/events/poll?timeout=0&lastSequence=%zu", id,
             w->n > 0 ? 2 * w->n - 2 : 0);
    (void)alpha_ask(w, "GET", path, STR_NONE, &snap);
    const size_t from = 2 * w->n - 2;
    const int64_t disk = host_disk(&w->host);
    snprintf(path, sizeof path, "/v1/runs/%s:fork", id);
    snprintf(body, sizeof body, "{\"mode\":\"branch\",\"fromSeq\":%zu}", from);
    const int forks = w->full ? FORKS_FULL : FORKS_SMALL;
    w->served = w->refused = 0;
    for (int i = 0; i < forks; i++) {
        struct str answer;
        char fork[ID_BYTES];
        if (alpha_ask(w, "POST", path, str_c(body), &answer) == 201 && run_id_in(answer, fork))
            ledger_add(&w->acked, fork);
    }
    note(w, "%d forks wrote %lld MB", forks, (long long)((host_disk(&w->host) - disk) >> 20));
    alpha_cancel_all(w);
}

static bool token_of(struct world *w, const char *id, char token[1024]) {
    char path[128];
    struct str answer;
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    token[0] = '\0';
    if (alpha_ask(w, "GET", path, STR_NONE, &answer) != 200) return false;
    struct str raw = json_get(json_get(answer, "interrupt"), "interruptToken");
    if (raw.n < 3 || raw.n > 1000) return false;
    memcpy(token, raw.p + 1, raw.n - 2);
    token[raw.n - 2] = '\0';
    return true;
}

/* Asking back by the token, without a key: afterwards the run must still be readable. */
void attack_ask_flood(struct world *w) {
    char id[ID_BYTES], token[1024], path[1200];
    struct buf b;
    if (!alpha_run(w, "attack-ask", NULL, id) || !alpha_wait(w, id, "waiting-approval", WAIT_MS) ||
        !token_of(w, id, token))
        GIVE_UP(w, "no interrupt token");
    buf_init(&b, 4u << 20);
    buf_addz(&b, "{\"resumeValue\":{\"action\":\"ask\",\"comment\":\"");
    fill(&b, "what? ", ASK_BYTES);
    buf_addz(&b, "\"}}");
    snprintf(path, sizeof path, "/v1/interrupts/%s", token);
    w->served = 0;
    for (size_t i = 0; i < w->n; i++) {
        struct line l;
        line_init(&l, w->host.port, FROM_ATTACKER);
        int status = line_ask(
            &l, &(struct request){.method = "POST", .path = path, .body = buf_str(&b)}, NULL);
        line_fini(&l);
        if (status == 0) w->silent++;
        else if (status < 300) w->served++;
        else w->refused++;
    }
    buf_fini(&b);
    snprintf(path, sizeof path, "/v1/runs/%s", id);
    struct request q = {.method = "GET", .path = path, .key = w->host.alpha};
    int status = line_ask(&w->alpha, &q, NULL);
    if (status != 200) wrong(w, "the run that was asked %zu times answers %d", w->served, status);
    alpha_cancel_all(w);
}
