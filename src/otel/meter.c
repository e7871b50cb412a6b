/* meter.c: see meter.h. */
#include "otel/meter.h"

#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"

#define NS_PER_MS 1000000u

enum meter_kind { SUM, AMOUNT, GAUGE, LEVEL, HISTOGRAM };
enum { LABEL_BYTES_MAX = 256, CUMULATIVE = 2 };
static const struct meter {
    const char *name, *unit, *says;
    enum meter_kind kind;
    size_t bounds_nr;
    double bounds[METER_BOUNDS_MAX];
} METERS[] = {
#define LIST_(...)  __VA_ARGS__
#define COUNT_(...) (sizeof((double[]){__VA_ARGS__}) / sizeof(double))
#define METER(id, name, unit, kind, bounds, says)                                                  \
    [METER_##id] = {name, unit, says, kind, COUNT_ bounds, {LIST_ bounds}},
#include "otel/meters.def"
#undef METER
};
struct series {
    struct list link; /* in meters.of[id] */
    uint64_t bucket[METER_BOUNDS_MAX + 1], count;
    double sum; /* or the number of a gauge */
    struct meter_label labels[METER_LABELS_MAX];
    size_t labels_nr;
    size_t key_n;
    char key[]; /* id and values, in which the labels lie */
};
struct meters {
    int64_t since_ms;
    struct map *by_key;
    struct list of[METER_NR];
    size_t nr[METER_NR], key_bytes;
};

struct meters *meters_new(int64_t now_ms) {
    struct meters *m = MEM_NEW(struct meters);
    if (!m) return NULL;
    m->since_ms = now_ms;
    for (int i = 0; i < METER_NR; i++) list_init(&m->of[i]);
    m->by_key = map_new();
    if (m->by_key) return m;
    mem_free(m);
    return NULL;
}

void meters_free(struct meters *m) {
    if (!m) return;
    for (int i = 0; i < METER_NR; i++)
        while (!list_empty(&m->of[i]))
            mem_free(LIST_ENTRY(list_pop(&m->of[i]), struct series, link));
    map_free(m->by_key);
    mem_free(m);
}

size_t meters_series(const struct meters *m) { return map_count(m->by_key); }

/* --- series --- */

struct key {
    size_t n;
    char text[1 + METER_LABELS_MAX * (LABEL_BYTES_MAX + 1)];
};

/* What is longer than any id is cut, between two characters. */
static struct str value_cut(struct str v) {
    size_t n = v.n < LABEL_BYTES_MAX ? v.n : LABEL_BYTES_MAX;
    while (n > 0 && n < v.n && ((unsigned char)v.p[n] & 0xc0) == 0x80) n--;
    return str_n(v.p, n);
}

static void key_build(struct key *k, enum meter_id id, const struct meter_label *labels, size_t n) {
    k->n = 0;
    k->text[k->n++] = (char)id;
    for (size_t i = 0; i < n; i++) {
        struct str v = value_cut(labels[i].value);
        if (v.n > 0) memcpy(k->text + k->n, v.p, v.n);
        k->n += v.n;
        k->text[k->n++] = '\0';
    }
}

static struct series *series_add(struct meters *m, enum meter_id id, const struct key *k,
                                 const struct meter_label *labels, size_t n) {
    struct series *s = mem_zalloc(sizeof *s + k->n);
    if (!s) return NULL;
    s->key_n = k->n;
    memcpy(s->key, k->text, k->n);
    for (size_t i = 0, at = 1; i < n; i++) {
        size_t len = value_cut(labels[i].value).n;
        if (len > 0)
            s->labels[s->labels_nr++] =
                (struct meter_label){labels[i].key, str_n(s->key + at, len)};
        at += len + 1;
    }
    if (map_put(m->by_key, str_n(s->key, s->key_n), s, NULL) != 0) {
        mem_free(s);
        return NULL;
    }
    list_add_tail(&m->of[id], &s->link);
    m->nr[id]++;
    m->key_bytes += k->n;
    return s;
}

static struct series *series_of(struct meters *m, enum meter_id id,
                                const struct meter_label *labels, size_t n) {
    const struct meter_label over = {"otel.metric.overflow", STR("true")};
    struct key k;
    key_build(&k, id, labels, n);
    struct series *s = map_get(m->by_key, str_n(k.text, k.n));
    if (s) return s;
    if (m->nr[id] < METER_SERIES_MAX && m->key_bytes + k.n <= METER_KEYS_MAX)
        return series_add(m, id, &k, labels, n);
    key_build(&k, id, &over, 1);
    s = map_get(m->by_key, str_n(k.text, k.n));
    return s ? s : series_add(m, id, &k, &over, 1);
}

void meter_add(struct meters *m, enum meter_id id, double v, const struct meter_label *labels,
               size_t n) {
    const struct meter *of = &METERS[id];
    struct series *s = series_of(m, id, labels, n < METER_LABELS_MAX ? n : METER_LABELS_MAX);
    size_t at = 0;
    if (!s) return;
    s->sum = of->kind == GAUGE || of->kind == LEVEL ? v : s->sum + v;
    if (of->kind != HISTOGRAM) return;
    while (at < of->bounds_nr && v > of->bounds[at]) at++;
    s->bucket[at]++;
    s->count++;
}

void meter_zero(struct meters *m, enum meter_id id) {
    for (const struct list *l = m->of[id].next; l != &m->of[id]; l = l->next)
        LIST_ENTRY(l, struct series, link)->sum = 0;
}

/* --- the message --- */

static void labels_write(struct form *f, unsigned no, const struct series *s) {
    struct attr v[METER_LABELS_MAX];
    for (size_t i = 0; i < s->labels_nr; i++)
        v[i] = (struct attr){
            .key = str_c(s->labels[i].key), .type = ATTR_STR, .s = s->labels[i].value};
    attrs_write(f, no, v, s->labels_nr);
}

static void times_write(struct form *f, const struct meters *m, int64_t now_ms) {
    form_fixed64(f, 2, "startTimeUnixNano", (uint64_t)m->since_ms * NS_PER_MS);
    form_fixed64(f, 3, "timeUnixNano", (uint64_t)now_ms * NS_PER_MS);
}

static void number_write(struct form *f, const struct meters *m, const struct series *s,
                         bool fraction, int64_t now_ms) {
    form_item(f, 1);
    labels_write(f, 7, s);
    times_write(f, m, now_ms);
    if (fraction) form_double(f, 4, "asDouble", s->sum);
    else form_fixed64(f, 6, "asInt", (uint64_t)s->sum);
    form_close(f);
}

static void histogram_write(struct form *f, const struct meters *m, const struct meter *of,
                            const struct series *s, int64_t now_ms) {
    form_item(f, 1);
    labels_write(f, 9, s);
    times_write(f, m, now_ms);
    form_fixed64(f, 4, "count", s->count);
    form_double(f, 5, "sum", s->sum);
    form_fixed64s(f, 6, "bucketCounts", s->bucket, of->bounds_nr + 1);
    form_doubles(f, 7, "explicitBounds", of->bounds, of->bounds_nr);
    form_close(f);
}

static void metric_write(struct form *f, const struct meters *m, enum meter_id id, int64_t now_ms) {
    static const struct {
        unsigned no;
        const char *key;
    } DATA[] = {[SUM] = {7, "sum"},
                [AMOUNT] = {7, "sum"},
                [GAUGE] = {5, "gauge"},
                [LEVEL] = {7, "sum"},
                [HISTOGRAM] = {9, "histogram"}};
    const struct meter *of = &METERS[id];
    form_item(f, 2);
    form_str(f, 1, "name", str_c(of->name));
    form_str(f, 2, "description", str_c(of->says));
    form_str(f, 3, "unit", str_c(of->unit));
    form_open(f, DATA[of->kind].no, DATA[of->kind].key);
    form_list(f, "dataPoints");
    for (const struct list *l = m->of[id].next; l != &m->of[id]; l = l->next) {
        const struct series *s = LIST_ENTRY(l, struct series, link);
        if (of->kind == HISTOGRAM) histogram_write(f, m, of, s, now_ms);
        else number_write(f, m, s, of->kind == AMOUNT, now_ms);
    }
    form_list_end(f);
    if (of->kind != GAUGE) form_number(f, 2, "aggregationTemporality", CUMULATIVE);
    if (of->kind == SUM || of->kind == AMOUNT) form_bool(f, 3, "isMonotonic", true);
    form_close(f);
    form_close(f);
}

void meters_request(struct form *f, const struct speaker *who, const struct meters *m,
                    int64_t now_ms) {
    form_begin(f);
    form_list(f, "resourceMetrics");
    form_item(f, 1);
    speaker_resource(f, who);
    form_list(f, "scopeMetrics");
    form_item(f, 2);
    speaker_scope(f, who);
    form_list(f, "metrics");
    for (int i = 0; i < METER_NR; i++)
        if (m->nr[i] > 0) metric_write(f, m, (enum meter_id)i, now_ms);
    form_list_end(f);
    form_close(f);
    form_list_end(f);
    form_close(f);
    form_list_end(f);
    form_end(f);
}
