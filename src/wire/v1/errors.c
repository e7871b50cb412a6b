/*
 * errors.c: neutral failure -> status and closed envelope (ERR-1 to ERR-10).  No other file formats
 * an error body (D8).
 */
#include "codec/fields.h"
#include "codec/jobj.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

enum retry { RETRY_NONE, RETRY_SECOND, RETRY_DETAILS };
struct error_row {
    int status;
    const char *wire;
    enum retry retry;
};
static const struct error_row ROWS[WOPR_ERR_NR] = {
#define V1_ERR(id, status, wire, retry) [WOPR_ERR_ORDER_##id] = {status, wire, RETRY_##retry},
#include "wire/v1/errors.def"
#undef V1_ERR
};
enum { ENVELOPE_MAX = 8192, RETRY_AFTER_MAX_S = 86400, KEEP_BYTES = 64 };
static const char FALLBACK[] = "{\"error\":\"service_unavailable\",\"message\":\"The server is out "
                               "of memory. Try again later.\","
                               "\"details\":{\"retryAfter\":1,\"correlationId\":\"unavailable\"}}";

static const struct error_row *row_of(int code) {
    if (code >= 0 || code <= -(int)WOPR_ERR_NR || !ROWS[-code].wire)
        return &ROWS[WOPR_ERR_ORDER_INTERNAL];
    return &ROWS[-code];
}

int v1_status_of(int code) { return row_of(code)->status; }
const char *v1_code_of(int code) { return row_of(code)->wire; }

/* The message for the caller.  A 5xx reveals nothing internal (ERR-5); a 404 is the same for absent
 * and foreign resources (HTTP-13). */
static struct str public_message(const struct error_row *row, const struct wopr_error *err) {
    if (row->status == 501) return STR("This host does not offer that operation.");
    if (row->status == 505) return STR("Send the request as HTTP/1.1 or HTTP/1.0.");
    if (err->code == WOPR_E_DISK_FULL)
        return STR("The server has no room to store this. Try again after the given time.");
    if (row->status == 503)
        return STR("The server is at capacity or shutting down. Try again after the given time.");
    if (row->status >= 500)
        return STR("The server could not complete the request. Quote the correlation id when you "
                   "report it.");
    if (row->status == 404)
        return STR("There is no such resource, or it is not visible to this credential.");
    if (err->message[0]) return str_c(err->message);
    return str_c(wopr_err_text(err->code));
}

static void detail_int(struct jw *d, struct str given, const char *key, int64_t v) {
    if (!json_get(given, key).p) jw_kint(d, key, v);
}

/* "/configurable/temperature" -> configurable.temperature; a bare parameter name stays. */
static void path_add(struct jw *d, struct str pointer) {
    struct buf path;
    buf_init(&path, sizeof((struct wopr_error *)0)->pointer);
    if (pointer.n > 0 && pointer.p[0] == '/') {
        pointer.p++;
        pointer.n--;
    }
    for (size_t i = 0; i < pointer.n; i++) {
        char ch = pointer.p[i];
        if (ch == '/') ch = '.';
        else if (ch == '~' && i + 1 < pointer.n) ch = pointer.p[++i] == '1' ? '/' : '~';
        buf_addc(&path, ch);
    }
    fields_add(d, buf_str(&path), "invalid");
    buf_fini(&path);
}

/* ERR-6: the place an error points to, unless its details name it already. */
static void pointer_add(struct jw *d, struct str given, const struct wopr_error *err) {
    if (!err->pointer[0] || json_get(given, "fields").p) return;
    fields_begin(d);
    path_add(d, str_c(err->pointer));
    fields_end(d);
}

static int clamp_seconds(int64_t s) {
    if (s < 1) return 1;
    return s > RETRY_AFTER_MAX_S ? RETRY_AFTER_MAX_S : (int)s;
}

/* ERR-8: both generations of names, consistent with the header. */
static int rate_limit_add(struct jw *d, struct str given) {
    int64_t ms = 1000, observed;
    if (!json_int(json_get(given, "retryAfterMs"), &ms) || ms < 1) ms = 1000;
    int seconds = clamp_seconds(ms / 1000 + (ms % 1000 != 0));
    detail_int(d, given, "retryAfterMs", ms);
    if (!json_get(given, "scope").p) jw_kstrz(d, "scope", "key");
    detail_int(d, given, "retryAfterSeconds", seconds);
    detail_int(d, given, "window", 1);
    if (json_int(json_get(given, "observedRate"), &observed))
        detail_int(d, given, "current", observed);
    return seconds;
}

static int retry_add(struct jw *d, struct str given, const struct error_row *row) {
    int64_t s = 1;
    if (row->retry == RETRY_NONE) return 0;
    if (row->status == 429) return rate_limit_add(d, given);
    if (row->retry == RETRY_DETAILS) (void)json_int(json_get(given, "retryAfter"), &s);
    detail_int(d, given, "retryAfter", clamp_seconds(s));
    if (row == &ROWS[WOPR_ERR_ORDER_RUN_ALREADY_ACTIVE] && !json_get(given, "activeHost").p)
        jw_kstrz(d, "activeHost", "cloud");
    return clamp_seconds(s);
}

/* Details as the failing layer gave them; of a 5xx only the retry hint survives (ERR-5). */
static struct str given_details(const struct error_row *row, const struct wopr_error *err,
                                char keep[KEEP_BYTES]) {
    struct str given = str_c(err->details);
    int64_t s;
    if (given.n == 0 || json_check(given, &JSON_LIMITS_DEFAULT, NULL) != 0 ||
        json_type_of(given) != JSON_OBJECT)
        return STR("{}");
    if (row->status < 500) return str_trim(given);
    if (!json_int(json_get(given, "retryAfter"), &s)) return STR("{}");
    snprintf(keep, KEEP_BYTES, "{\"retryAfter\":%d}", clamp_seconds(s));
    return str_c(keep);
}

/* The kind of shortage, where a client may know it (ERR-5). */
static void reason_add(struct jw *d, int code) {
    const char *reason = code == WOPR_E_DISK_FULL   ? "storage_full"
                         : code == WOPR_E_BUSY      ? "storage_busy"
                         : code == WOPR_E_NO_MEMORY ? "out_of_memory"
                         : code == WOPR_E_CLOSED    ? "shutting_down"
                                                    : NULL;
    jw_kstrz_opt(d, "reason", reason);
}

void v1_error_envelope(const struct wopr_error *err, struct str correlation, struct buf *out,
                       int *status, int *retry_after_s) {
    const struct error_row *row = row_of(err->code);
    char keep[KEEP_BYTES];
    struct str given = given_details(row, err, keep);
    struct jobj d;
    struct jw w;
    jobj_begin(&d, ENVELOPE_MAX);
    jw_members(&d.w, given);
    if (strcmp(row->wire, "validation_error") == 0) pointer_add(&d.w, given, err);
    int retry = retry_add(&d.w, given, row);
    if (row->status == 503) reason_add(&d.w, err->code);
    if (row->status >= 500)
        jw_kstr(&d.w, "correlationId", correlation.n ? correlation : STR("unknown"));
    jw_end_object(&d.w);
    jw_init(&w, out);
    jw_object(&w);
    jw_kstrz(&w, "error", row->wire);
    jw_kstr(&w, "message", public_message(row, err));
    if (d.b.len > strlen("{}") && !buf_failed(&d.b)) jw_kraw(&w, "details", buf_str(&d.b));
    jw_end_object(&w);
    jobj_drop(&d);
    *status = row->status;
    *retry_after_s = retry;
}

void v1_error_body(struct http_call *c, const struct wopr_error *err, int *status, struct str *body,
                   int *retry_after_s) {
    struct buf b;
    int st, retry;
    buf_init(&b, ENVELOPE_MAX * 2);
    v1_error_envelope(err, str_c(c->request_id), &b, &st, &retry);
    struct str copy = buf_failed(&b) ? STR_NONE : arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    if (!copy.p) {
        *status = 503;
        *body = STR(FALLBACK);
        *retry_after_s = 1;
        return;
    }
    *status = st;
    *body = copy;
    *retry_after_s = retry;
}

void v1_render_error(void *ctx, struct http_call *c, const struct wopr_error *err, int *status,
                     struct str *body, int *retry_after_s) {
    (void)ctx;
    v1_error_body(c, err, status, body, retry_after_s);
}
