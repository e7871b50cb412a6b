/* draw.c: a plan as a picture, a row for each performer; see plan.h. */
#include <stdio.h>

#include "workspec/plan.h"

enum { LABEL_MAX = 24, COLUMNS_MIN = 20, SVG_WIDTH = 960, SVG_LABEL = 160, SVG_ROW = 32 };

void ws_clock_format(const struct ws_plan *p, int64_t vt, char out[WS_CLOCK_SIZE]) {
    char date[WS_DATE_SIZE], clock[32];
    int64_t day = vt / WS_DAY_MS - (vt % WS_DAY_MS < 0), ms = vt - day * WS_DAY_MS;
    int n = snprintf(clock, sizeof clock, "%02d:%02d", (int)(ms / 3600000), (int)(ms / 60000 % 60));
    if (ms % 60000 != 0)
        n += snprintf(clock + n, sizeof clock - (size_t)n, ":%02d", (int)(ms / 1000 % 60));
    if (ms % 1000 != 0) snprintf(clock + n, sizeof clock - (size_t)n, ".%03d", (int)(ms % 1000));
    if (p->anchored) {
        ws_date_format(p->anchor_days + day, date);
        snprintf(out, WS_CLOCK_SIZE, "%s %s", date, clock);
    } else if (day != 0) {
        snprintf(out, WS_CLOCK_SIZE, "day %lld %s", (long long)day + 1, clock);
    } else {
        snprintf(out, WS_CLOCK_SIZE, "%s", clock);
    }
}

/* --- rows --- */

struct rows { /* tasks by performer, performers in the order of their first start */
    struct str *names;
    uint32_t *row;   /* by task */
    size_t *first;   /* of a row, in order; first[nr] is the end */
    uint32_t *order; /* tasks, row by row, by start */
    size_t nr;
    bool good;
};

static void rows_make(struct rows *r, const struct ws_plan *p, struct arena *a) {
    struct ws_names seen;
    uint32_t at;
    *r = (struct rows){.names = ARENA_ARRAY(a, struct str, p->nr),
                       .row = ARENA_ARRAY(a, uint32_t, p->nr),
                       .first = ARENA_ARRAY(a, size_t, p->nr + 2),
                       .order = ARENA_ARRAY(a, uint32_t, p->nr)};
    if (arena_failed(a)) return;
    ws_names_init(&seen, a);
    for (size_t k = 0; k < p->nr; k++) {
        struct str who = p->v[p->starts[k]].performer;
        if (!ws_names_get(&seen, 0, who, &at)) {
            at = (uint32_t)r->nr++;
            r->names[at] = who;
            if (!ws_names_put(&seen, 0, who, at)) return;
        }
        r->row[p->starts[k]] = at;
        r->first[at + 2]++;
    }
    for (size_t i = 2; i <= r->nr + 1; i++) r->first[i] += r->first[i - 1];
    for (size_t k = 0; k < p->nr; k++)
        r->order[r->first[r->row[p->starts[k]] + 1]++] = p->starts[k];
    r->good = true;
}

static struct str task_label(const struct ws_plan *p, size_t i) { return p->v[i].id; }

static void deps_put(struct buf *b, const struct ws_plan *p, const char *word, const uint32_t *v,
                     size_t nr) {
    for (size_t k = 0; k < nr && k < 8; k++)
        buf_addf(b, "%s" STR_FMT, k == 0 ? word : ", ", STR_ARG(p->v[v[k]].id));
    if (nr > 8) buf_addf(b, " and %zu more", nr - 8);
}

/* --- text --- */

static size_t column_of(const struct ws_plan *p, int64_t vt, size_t columns) {
    double span = (double)(p->end_ms - p->origin_ms);
    double at = span > 0 ? (double)(vt - p->origin_ms) / span * (double)columns : 0;
    size_t c = (size_t)at;
    return c < columns ? c : columns;
}

static void bar_put(struct buf *b, const struct ws_plan *p, const struct rows *r, size_t row,
                    size_t columns) {
    size_t at = 0;
    buf_addc(b, '|');
    for (size_t k = r->first[row]; k < r->first[row + 1]; k++) {
        const struct ws_entry *e = &p->v[r->order[k]];
        size_t from = column_of(p, e->start_ms, columns), to = column_of(p, e->end_ms, columns);
        if (to == from && to < columns) to++;
        for (; at < from; at++) buf_addc(b, ' ');
        for (; at < to; at++) buf_addc(b, (k - r->first[row]) % 2 == 0 ? '=' : '#');
    }
    for (; at < columns; at++) buf_addc(b, ' ');
    buf_addz(b, "|\n");
}

static void task_put(struct buf *b, const struct ws_plan *p, size_t i) {
    char from[WS_CLOCK_SIZE], to[WS_CLOCK_SIZE];
    const struct ws_entry *e = &p->v[i];
    ws_clock_format(p, e->start_ms, from);
    ws_clock_format(p, e->end_ms, to);
    buf_addf(b, "    %s - %s  " STR_FMT, from, to, STR_ARG(task_label(p, i)));
    deps_put(b, p, ", after ", e->all, e->all_nr);
    deps_put(b, p, ", after any of ", e->any, e->any_nr);
    buf_addz(b, e->human ? ", by a person\n" : "\n");
}

static void rows_put(struct buf *b, const struct ws_plan *p, const struct rows *r,
                     unsigned columns) {
    size_t label = 0;
    for (size_t i = 0; i < r->nr; i++)
        if (r->names[i].n > label) label = r->names[i].n < LABEL_MAX ? r->names[i].n : LABEL_MAX;
    size_t width = columns > label + 4 + COLUMNS_MIN ? columns - label - 4 : COLUMNS_MIN;
    for (size_t i = 0; i < r->nr; i++) {
        struct str name = r->names[i];
        if (name.n > LABEL_MAX) name.n = LABEL_MAX;
        buf_addf(b, "%-*.*s  ", (int)label, (int)name.n, name.p);
        bar_put(b, p, r, i, width);
        for (size_t k = r->first[i]; k < r->first[i + 1]; k++) task_put(b, p, r->order[k]);
    }
}

void ws_draw_text(struct buf *b, const struct ws_plan *p, unsigned columns) {
    char from[WS_CLOCK_SIZE], to[WS_CLOCK_SIZE];
    struct arena *a = arena_new(WS_ARENA_BYTES_MAX);
    struct rows r = {.good = false};
    if (a != NULL) rows_make(&r, p, a);
    if (r.good) {
        ws_clock_format(p, p->origin_ms, from);
        ws_clock_format(p, p->nr > 0 ? p->end_ms : p->origin_ms, to);
        buf_addf(b, "%s to %s: %zu %s, %zu %s\n", from, to, p->nr, p->nr == 1 ? "task" : "tasks",
                 r.nr, r.nr == 1 ? "performer" : "performers");
        rows_put(b, p, &r, columns);
    } else {
        b->failed = true;
    }
    arena_free(a);
}

/* --- SVG --- */

static void xml_put(struct buf *b, struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '&') buf_addz(b, "&amp;");
        else if (c == '<') buf_addz(b, "&lt;");
        else if (c == '>') buf_addz(b, "&gt;");
        else if (c == '"') buf_addz(b, "&quot;");
        else if ((unsigned char)c >= 0x20) buf_addc(b, c);
        else buf_addc(b, ' ');
    }
}

static void bar_svg(struct buf *b, const struct ws_plan *p, size_t i, size_t row) {
    char from[WS_CLOCK_SIZE], to[WS_CLOCK_SIZE];
    const struct ws_entry *e = &p->v[i];
    size_t x = column_of(p, e->start_ms, SVG_WIDTH), end = column_of(p, e->end_ms, SVG_WIDTH);
    size_t w = end > x + 2 ? end - x : 2, y = (row + 1) * SVG_ROW;
    ws_clock_format(p, e->start_ms, from);
    ws_clock_format(p, e->end_ms, to);
    buf_addf(b, "<g><title>");
    xml_put(b, e->id);
    buf_addf(b, ", %s to %s</title>\n", from, to);
    buf_addf(b, "<rect class=\"%s\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%d\" rx=\"3\"/>\n",
             e->human ? "human" : "task", x + SVG_LABEL, y + 4, w, SVG_ROW - 8);
    if (w >= e->id.n * 7 + 8) {
        buf_addf(b, "<text x=\"%zu\" y=\"%zu\">", x + SVG_LABEL + 4, y + 20);
        xml_put(b, e->id);
        buf_addz(b, "</text>\n");
    }
    buf_addz(b, "</g>\n");
}

static void rows_svg(struct buf *b, const struct ws_plan *p, const struct rows *r) {
    for (size_t i = 0; i < r->nr; i++) {
        struct str name = r->names[i];
        if (name.n > LABEL_MAX) name.n = LABEL_MAX;
        size_t y = (i + 1) * SVG_ROW;
        buf_addf(b, "<text x=\"4\" y=\"%zu\">", y + 20);
        xml_put(b, name);
        buf_addf(b, "</text>\n<line x1=\"0\" y1=\"%zu\" x2=\"%d\" y2=\"%zu\"/>\n", y,
                 SVG_LABEL + SVG_WIDTH, y);
        for (size_t k = r->first[i]; k < r->first[i + 1]; k++) bar_svg(b, p, r->order[k], i);
    }
}

void ws_draw_svg(struct buf *b, const struct ws_plan *p) {
    char from[WS_CLOCK_SIZE], to[WS_CLOCK_SIZE];
    struct arena *a = arena_new(WS_ARENA_BYTES_MAX);
    struct rows r = {.good = false};
    if (a != NULL) rows_make(&r, p, a);
    if (r.good) {
        int width = SVG_LABEL + SVG_WIDTH + 8;
        size_t height = (r.nr + 1) * SVG_ROW + 8;
        ws_clock_format(p, p->origin_ms, from);
        ws_clock_format(p, p->nr > 0 ? p->end_ms : p->origin_ms, to);
        buf_addf(b,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
                 "viewBox=\"0 0 %d %zu\">\n"
                 "<style>text{font:12px sans-serif}line{stroke:#ccc}.task{fill:#9db8d9}"
                 ".human{fill:#e3b587}</style>\n",
                 width, height, width, height);
        buf_addf(b,
                 "<text x=\"%d\" y=\"20\">%s</text>\n"
                 "<text x=\"%d\" y=\"20\" text-anchor=\"end\">%s</text>\n",
                 SVG_LABEL, from, SVG_LABEL + SVG_WIDTH, to);
        rows_svg(b, p, &r);
        buf_addz(b, "</svg>\n");
    } else {
        b->failed = true;
    }
    arena_free(a);
}
