/*
 * hop.c: a redirect that is followed: where to, and what goes with it.
 */
#include "base/mem.h"
#include "egress/egress_int.h"

/* What may be said to another host than the one the request was made for.  Whatever else a request
 * carries, credentials, keys, headers of its own, was meant for the first. */
static bool header_travels(const char *line) {
    static const char *const NAMES[] = {"Accept:", "Expect:"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_eq_nocase(
                str_n(line, strlen(NAMES[i]) < strlen(line) ? strlen(NAMES[i]) : strlen(line)),
                str_c(NAMES[i])))
            return true;
    return false;
}

static bool is_body_header(const char *line) {
    return strlen(line) > 8 && str_eq_nocase(str_n(line, 8), STR("Content-"));
}

static int headers_keep(struct transfer *t, bool same_peer, bool with_body) {
    struct curl_slist *kept = NULL;
    for (const struct curl_slist *l = t->headers; l; l = l->next) {
        if (!same_peer && !header_travels(l->data)) continue;
        if (!with_body && is_body_header(l->data)) continue;
        struct curl_slist *more = curl_slist_append(kept, l->data);
        if (!more) {
            curl_slist_free_all(kept);
            return WOPR_E_NO_MEMORY;
        }
        kept = more;
    }
    curl_slist_free_all(t->headers);
    t->headers = kept;
    return 0;
}

/* 303 asks for a GET, and a POST that was moved becomes one, as everywhere. */
static int method_turn(struct transfer *t, long status) {
    bool get = (status == 303 && strcmp(t->method, "GET") != 0) ||
               ((status == 301 || status == 302) && strcmp(t->method, "POST") == 0);
    char *method = get ? mem_strndup("GET", 3) : NULL;
    if (!get) return 0;
    if (!method) return WOPR_E_NO_MEMORY;
    mem_free(t->method);
    t->method = method;
    t->body_n = 0;
    return 0;
}

static void answer_drop(struct transfer *t) {
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->resolve);
    curl_slist_free_all(t->connect_to);
    t->easy = NULL;
    t->resolve = t->connect_to = NULL;
    t->refused = false;
    buf_fini(&t->answer);
    buf_init(&t->answer, t->answer_max);
}

static int hop_rules(const struct transfer *t, bool same_peer, bool was_secure, const char **why) {
    *why = "a redirect leads from https to http";
    if (was_secure && !t->secure) return WOPR_E_EGRESS_REFUSED;
    *why = "a redirect would carry the body of the request to another host";
    return same_peer || t->body_n == 0 ? 0 : WOPR_E_EGRESS_REFUSED;
}

static int hop_to(struct transfer *t, char *url, long status, const char **why) {
    bool was_secure = t->secure;
    char *peer = t->peer;
    t->peer = NULL;
    mem_free(t->url);
    t->url = url;
    *why = "no memory for an outgoing request";
    int rc = method_turn(t, status);
    if (rc == 0) rc = transfer_read_url(t);
    bool same = rc == 0 && strcmp(peer, t->peer) == 0 && was_secure == t->secure;
    if (rc == 0) rc = headers_keep(t, same, t->body_n > 0);
    if (rc == 0) rc = hop_rules(t, same, was_secure, why);
    mem_free(peer);
    return rc;
}

int transfer_hop(struct transfer *t, const char **why) {
    char *to = NULL;
    long status = 0;
    struct wopr_error err;
    (void)curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to);
    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    t->hopped = true;
    *why = "more redirects than the request follows";
    if (t->redirects_left == 0) return WOPR_E_UNREACHABLE;
    t->redirects_left--;
    *why = "a redirect leads to where no request may go";
    if (!to || egress_url_check(str_c(to), &t->e->cfg.allow, &err) != 0)
        return WOPR_E_EGRESS_REFUSED;
    char *url = mem_strndup(to, strlen(to));
    *why = "no memory for an outgoing request";
    if (!url) return WOPR_E_NO_MEMORY;
    answer_drop(t);
    return hop_to(t, url, status, why);
}
