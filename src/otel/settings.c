/* settings.c: what the OTEL_ variables say, as their specification has it. */
#include "otel/otel_int.h"

#include <stdlib.h>

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* p NULL: malformed, or no memory. */
static struct str percent_read(struct str s, struct arena *a) {
    char *out = arena_alloc(a, s.n + 1);
    size_t n = 0;
    if (!out) return STR_NONE;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '%') {
            out[n++] = s.p[i];
            continue;
        }
        int hi = s.n - i > 2 ? hex_value(s.p[i + 1]) : -1;
        int lo = s.n - i > 2 ? hex_value(s.p[i + 2]) : -1;
        if (hi < 0 || lo < 0) return STR_NONE;
        out[n++] = (char)(hi << 4 | lo);
        i += 2;
    }
    out[n] = '\0';
    return str_n(out, n);
}

int otel_pairs(const char *setting, const char *text, struct arena *a, struct pairs *out,
               struct wopr_error *err) {
    struct str left = str_c(text ? text : "");
    unsigned no = 0;
    *out = (struct pairs){.n = 0};
    while (left.n > 0) {
        struct str part = left, rest = STR_NONE, name, value;
        (void)str_cut(left, ',', &part, &rest);
        left = rest;
        no++;
        part = str_trim(part);
        if (part.n == 0) continue;
        if (out->n == OTEL_PAIRS_MAX)
            return wopr_error_at(err, WOPR_E_CONFIG, setting,
                                 "setting \"%s\" has more than %d entries", setting,
                                 OTEL_PAIRS_MAX);
        bool cut = str_cut(part, '=', &name, &value);
        name = cut ? percent_read(str_trim(name), a) : STR_NONE;
        value = cut ? percent_read(str_trim(value), a) : STR_NONE;
        if (name.n == 0 || !value.p)
            return wopr_error_at(
                err, WOPR_E_CONFIG, setting,
                "setting \"%s\": entry %u is not name=value with a percent-encoded "
                "value",
                setting, no);
        out->name[out->n] = name;
        out->value[out->n++] = value;
    }
    return 0;
}

struct str otel_url(const char *own, const char *common, const char *path, struct arena *a) {
    struct str base = str_c(common ? common : "");
    if (own && *own) return arena_str(a, str_c(own));
    if (base.n == 0) return STR("");
    while (base.n > 0 && base.p[base.n - 1] == '/') base.n--;
    return arena_printf(a, STR_FMT "%s", STR_ARG(base), path);
}

static bool settings_said(const char *text) { return text && *text; }

static bool ratio_read(const char *text, double *out) {
    char *end = NULL;
    *out = settings_said(text) ? strtod(text, &end) : 1;
    return !settings_said(text) || (*end == '\0' && *out >= 0 && *out <= 1);
}

static bool traces_wanted(const struct otel_config *c) {
    return !c->disabled && c->traces &&
           (settings_said(c->endpoint) || settings_said(c->traces_endpoint));
}

bool otel_metrics_wanted(const struct otel_config *c) {
    return !c->disabled && c->metrics &&
           (settings_said(c->endpoint) || settings_said(c->metrics_endpoint));
}

enum record_level otel_records(const struct otel_config *c) {
    if (!settings_said(c->records) || strcmp(c->records, "off") == 0) return RECORD_NONE;
    return strcmp(c->records, "all") == 0 ? RECORD_ALL : RECORD_RUNS;
}

bool otel_wanted(const struct otel_config *c) {
    return traces_wanted(c) || otel_metrics_wanted(c) || otel_records(c) != RECORD_NONE;
}

int otel_policy(const struct otel_config *c, struct trace_policy *out, struct wopr_error *err) {
    static const char PARENT[] = "parentbased_";
    struct trace_policy p = {.root = TRACE_ALWAYS};
    const char *word = settings_said(c->sampler) ? c->sampler : "parentbased_always_on";
    p.on = traces_wanted(c);
    p.parent_based = strncmp(word, PARENT, sizeof PARENT - 1) == 0;
    if (p.parent_based) word += sizeof PARENT - 1;
    if (strcmp(word, "always_off") == 0) p.root = TRACE_NEVER;
    if (strcmp(word, "traceidratio") == 0) p.root = TRACE_RATIO;
    if (!ratio_read(c->sampler_arg, &p.ratio))
        return wopr_error_at(err, WOPR_E_CONFIG, "otel-sampler-arg",
                             "setting \"otel-sampler-arg\" must be a number from 0 to 1");
    *out = p.on ? p : (struct trace_policy){.on = false};
    return 0;
}

static bool header_ok(struct str name, struct str value) {
    static const char OTHER[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool alnum = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        if (!alnum && (c == '\0' || !strchr(OTHER, c))) return false;
    }
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f) return false;
    return true;
}

int otel_headers_check(const struct pairs *p, struct wopr_error *err) {
    if (p->n >= EGRESS_HEADERS_MAX)
        return wopr_error_at(err, WOPR_E_CONFIG, "otel-headers",
                             "setting \"otel-headers\" has more than %u entries",
                             EGRESS_HEADERS_MAX - 1);
    for (size_t i = 0; i < p->n; i++)
        if (!header_ok(p->name[i], p->value[i]))
            return wopr_error_at(err, WOPR_E_CONFIG, "otel-headers",
                                 "setting \"otel-headers\": the name of header %zu has characters "
                                 "that no header has, or its value control characters",
                                 i + 1);
    return 0;
}
