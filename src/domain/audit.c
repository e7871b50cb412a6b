/*
 * audit.c: entries of the audit log; see audit.h.
 */
#include "domain/audit.h"

#include "codec/ident.h"
#include "codec/json.h"
#include "domain/options.h"

/* Ids and paths are cut, so that no caller decides how large the log grows. */
enum { TEXT_BYTES_MAX = 1024, DETAILS_BYTES_MAX = 4096 };

static void text_or_null(struct jw *w, const char *key, struct str text) {
    struct buf shown;
    if (text.n == 0) {
        jw_kraw(w, key, STR("null"));
        return;
    }
    buf_init(&shown, 2 * TEXT_BYTES_MAX);
    if (text.n > TEXT_BYTES_MAX) /* between characters */
        for (text.n = TEXT_BYTES_MAX; text.n > 0 && (text.p[text.n] & 0xc0) == 0x80;) text.n--;
    (void)redact_text(text, STR_NONE, &shown);
    jw_kstr(w, key, buf_str(&shown));
    buf_fini(&shown);
}

static void number_or_null(struct jw *w, const char *key, int64_t n) {
    if (n > 0) jw_kint(w, key, n);
    else jw_kraw(w, key, STR("null"));
}

static void entry_write(struct jw *w, const struct plan_audit *row, int64_t seq,
                        const struct sha256 *prev) {
    char at[TIME_LEN + 1], hex[65];
    bool details = row->details.n > 0 && row->details.n <= DETAILS_BYTES_MAX;
    time_format(row->at_ms, at);
    jw_object(w);
    jw_kint(w, "seq", seq);
    jw_kstrz(w, "ts", at);
    jw_kstr(w, "type", row->type);
    text_or_null(w, "tenantId", row->tenant);
    text_or_null(w, "principal", row->principal);
    text_or_null(w, "keyId", row->key_id);
    text_or_null(w, "scope", row->scope);
    text_or_null(w, "method", row->method);
    text_or_null(w, "path", row->path);
    number_or_null(w, "status", row->status);
    if (row->timed) jw_kint(w, "latencyMs", row->latency_ms);
    else jw_kraw(w, "latencyMs", STR("null"));
    text_or_null(w, "requestId", row->request_id);
    jw_kraw(w, "details", details ? row->details : STR("null"));
    if (prev) sha256_hex(prev, hex);
    text_or_null(w, "prevHash", prev ? str_c(hex) : STR_NONE);
    jw_end_object(w);
}

int audit_entry_render(const struct plan_audit *row, int64_t seq, const struct sha256 *prev,
                       struct buf *out, struct wopr_error *err) {
    struct buf plain;
    struct jw w;
    buf_init(&plain, AUDIT_ENTRY_MAX);
    jw_init(&w, &plain);
    entry_write(&w, row, seq, prev);
    int rc = buf_failed(&plain)
                 ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an audit entry")
                 : json_canonical(buf_str(&plain), out, err);
    buf_fini(&plain);
    return rc;
}

bool audit_entry_link(struct str entry, int64_t *seq, struct str *prev) {
    if (json_check(entry, &JSON_LIMITS_STORED, NULL) != 0 || json_type_of(entry) != JSON_OBJECT)
        return false;
    struct str raw = json_get(entry, "prevHash");
    if (!json_int(json_get(entry, "seq"), seq) || raw.p == NULL) return false;
    if (str_eqc(raw, "null")) *prev = STR_NONE;
    else if (raw.n >= 2 && raw.p[0] == '"') *prev = str_n(raw.p + 1, raw.n - 2);
    else return false;
    return true;
}
