/* rows_heads.c: what stands in a head, and how a message ends: findings H1, H2, H4, H5, S8. */
#include "rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    HEAD_WAIT_MS = 5000,
    REFUSED_WAIT_MS = 300,
    LEAK_BATCH = 100,
    HALF_CLOSERS = 20,
    NEAR_FIRST = 40, /* headers beside the usual ones */
    NEAR_LAST = 100,
    LIST_MAX = 200,
    HEAD_SMALL_WAIT_MS = 500,
    HEAD_READERS = 8,
    REFUSED_BYTES = 200000,
    PIECE = 16384
};

/* The same request from many connections; whoever reads the answers does so afterwards. */
static void same(struct world *w, struct str text) {
    for (size_t done = 0; done < w->n; done += LEAK_BATCH) {
        struct swarm s;
        swarm_open(&s, w->host.port, FROM_ATTACKER, LEAK_BATCH, text);
        const int64_t end = now_ms() + REFUSED_WAIT_MS;
        while (swarm_cut(&s) < s.n && now_ms() < end) nap_ms(2);
        w->refused += swarm_cut(&s);
        swarm_close(&s, false);
    }
}

void attack_parameters(struct world *w) { /* H1: 228 bytes, no key */
    struct buf b;
    buf_init(&b, 4096);
    buf_addz(&b, "GET /?");
    fill(&b, "&", 200);
    buf_addz(&b, " HTTP/1.1\r\nHost: attack.test\r\n\r\n");
    same(w, buf_str(&b));
    buf_fini(&b);
}

void attack_cookies(struct world *w) {
    struct buf b;
    buf_init(&b, 8192);
    buf_addz(&b, "GET / HTTP/1.1\r\nHost: attack.test\r\nCookie: ");
    for (int i = 0; i < 90; i++) buf_addf(&b, "%sc%d=%d", i > 0 ? "; " : "", i, i);
    buf_addz(&b, "\r\n\r\n");
    same(w, buf_str(&b));
    buf_fini(&b);
}

/* --- H2: a run is made only when its answer comes --- */

static size_t alpha_runs_nr(struct world *w) {
    struct str body;
    struct json_elements l;
    struct request q = {.method = "GET", .path = "/v1/runs?limit=200", .key = w->host.alpha};
    size_t n = LIST_MAX + 1;
    struct arena *a = arena_new(16u << 20);
    if (a != NULL && line_ask(&w->beta, &q, &body) == 200 &&
        json_elements(json_get(body, "runs"), a, &l, NULL) == 0)
        n = l.n;
    arena_free(a);
    return n;
}

static int near_limit(struct world *w, int headers, int bytes) {
    struct buf b;
    struct line l;
    buf_init(&b, 1 << 16);
    for (int i = 0; i < headers; i++) buf_addf(&b, "X%d: %d\r\n", i, i);
    if (bytes > 0) {
        buf_addz(&b, "X-Long: ");
        fill(&b, "y", (size_t)bytes);
        buf_addz(&b, "\r\n");
    }
    line_init(&l, w->host.port, FROM_ATTACKER);
    struct request q = {.method = "POST",
                        .path = "/v1/runs",
                        .key = w->host.alpha,
                        .headers = buf_str(&b).p,
                        .body = str_c("{\"workflowId\":\"attack-hello\"}"),
                        .wait_ms = 1000,
                        .close = true};
    int status = line_ask(&l, &q, NULL);
    line_fini(&l);
    buf_fini(&b);
    return status;
}

void attack_near_limit(struct world *w) {
    size_t told = 0, asked = 0;
    for (int i = NEAR_FIRST; i <= NEAR_LAST; i++, asked++) told += near_limit(w, i, 0) == 201;
    for (int bytes = 4600; bytes < 4600 + (int)w->n * 40; bytes += 40, asked++)
        told += near_limit(w, 0, bytes) == 201;
    size_t made = alpha_runs_nr(w);
    w->served = told;
    w->refused = asked - told;
    if (made != told)
        wrong(w, "%zu runs were made by %zu requests, %zu were told so", made, asked, told);
}

/* --- H4: shutdown(SHUT_WR) is no hang-up --- */

static void half_closer(struct world *w, unsigned no) {
    static const char body[] = "{\"workflowId\":\"attack-hello\"}";
    char text[512];
    size_t told = 0, mine = w->n / HALF_CLOSERS;
    (void)no;
    int n = snprintf(text, sizeof text,
                     "POST /v1/runs HTTP/1.1\r\nHost: attack.test\r\nAuthorization: Bearer %s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     w->host.alpha, sizeof body - 1, body);
    for (size_t i = 0; i < mine; i++) {
        struct buf b;
        int fd = net_dial(w->host.port, FROM_ATTACKER);
        buf_init(&b, 1 << 16);
        if (fd >= 0 && net_send(fd, text, (size_t)n) && shutdown(fd, SHUT_WR) == 0)
            (void)net_read(fd, &b, HEAD_WAIT_MS);
        told += b.len > 12 && strncmp(b.p + 9, "201", 3) == 0;
        net_close(fd, false);
        buf_fini(&b);
    }
    __atomic_add_fetch(&w->served, told, __ATOMIC_RELAXED);
    __atomic_add_fetch(&w->silent, mine - told, __ATOMIC_RELAXED);
}

void attack_half_close(struct world *w) {
    in_parallel(w, HALF_CLOSERS, half_closer);
    if (w->silent > 0)
        wrong(w, "%zu of %zu half-closed requests were not answered", w->silent,
              w->served + w->silent);
}

/* --- H11, H12: who writes a large body that is refused is told so --- */

static int refused_body(const struct world *w, const char *framing, size_t bytes) {
    struct buf out, in;
    int status = 0, fd = net_dial(w->host.port, FROM_ATTACKER);
    buf_init(&out, 1 << 20);
    buf_init(&in, 1 << 20);
    buf_addf(&out,
             "POST /v1/runs HTTP/1.1\r\nHost: attack.test\r\nAuthorization: Bearer wrong\r\n"
             "Content-Type: application/json\r\n%s\r\n",
             framing);
    fill(&out, "x", bytes);
    if (strstr(framing, "chunked") != NULL) buf_addz(&out, "\r\n0\r\n\r\n");
    for (size_t done = 0; fd >= 0 && done < out.len; done += PIECE) { /* a slow writer */
        size_t n = out.len - done < PIECE ? out.len - done : PIECE;
        if (!net_send(fd, out.p + done, n)) break;
        nap_ms(1);
    }
    if (fd >= 0) (void)net_read(fd, &in, HEAD_WAIT_MS);
    if (in.len > 12) sscanf(in.p, "HTTP/1.1 %d", &status);
    net_close(fd, false);
    buf_fini(&out);
    buf_fini(&in);
    return status;
}

static void refused_writer(struct world *w, unsigned no) {
    char framing[2][64];
    snprintf(framing[0], sizeof framing[0], "Content-Length: %d\r\n", REFUSED_BYTES);
    snprintf(framing[1], sizeof framing[1], "Transfer-Encoding: chunked\r\n\r\n%x", REFUSED_BYTES);
    for (size_t i = 0; i < w->n / HALF_CLOSERS; i++) {
        int status = refused_body(w, framing[(no + i) % 2], REFUSED_BYTES);
        __atomic_add_fetch(status >= 400 ? &w->refused : &w->silent, 1, __ATOMIC_RELAXED);
    }
}

void attack_refused_bodies(struct world *w) {
    in_parallel(w, HALF_CLOSERS, refused_writer);
    if (w->silent > 0)
        wrong(w, "%zu of %zu refused bodies were cut without an answer", w->silent,
              w->silent + w->refused);
}

/* --- S8, H5, H13, H14, H22: the list of heads.c against the host alone --- */

static struct seen *seen_all; /* one each */

static void head_reader(struct world *w, unsigned no) {
    for (size_t i = no; i < HEADS_NR; i += HEAD_READERS)
        head_exchange(w->host.port, FROM_ATTACKER, w->host.alpha, &HEADS[i],
                      w->full ? HEAD_WAIT_MS : HEAD_SMALL_WAIT_MS, &seen_all[i]);
}

/* Refused: an error and nothing behind it; to close without a word is as safe. */
static bool as_wanted(const struct head *h, const struct seen *s) {
    if (h->verdict == REFUSE)
        return !s->marker && !s->smuggled && s->closed &&
               (s->answers == 0 || (s->answers == 1 && s->status >= 400));
    if (h->verdict == ONE_REQUEST) return s->answers == 2 && s->marker && !s->smuggled;
    return !s->smuggled || s->answers > 2; /* a pipelined one is no smuggled one */
}

void attack_framing(struct world *w) {
    size_t otherwise = 0;
    seen_all = mem_array(HEADS_NR, sizeof *seen_all);
    if (seen_all == NULL) GIVE_UP(w, "no memory");
    in_parallel(w, HEAD_READERS, head_reader);
    for (size_t i = 0; i < HEADS_NR; i++) {
        const struct seen *s = &seen_all[i];
        if (s->answers == 0) w->silent++;
        else if (s->status < 400) w->served++;
        else w->refused++;
        if (as_wanted(&HEADS[i], s)) continue;
        otherwise++;
        wrong(w, "%s: %d, %zu answers%s%s%s", HEADS[i].name, s->status, s->answers,
              s->marker ? ", went on" : "", s->smuggled ? ", smuggled" : "",
              s->closed ? "" : ", open");
    }
    mem_free(seen_all);
    note(w, "%zu of %zu heads otherwise", otherwise, HEADS_NR);
}
