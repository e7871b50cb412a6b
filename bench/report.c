/* report.c: a table for people on stdout, one JSON document for machines. */
#include "bench.h"

#include "codec/ident.h"

#include <microhttpd.h>
#include <sqlite3.h>

enum { REPORT_BYTES_MAX = 1024 * 1024 };

void report_begin(struct report *r, const char *figure, const struct options *o) {
    *r = (struct report){.figure = figure, .o = o};
    buf_init(&r->rows, REPORT_BYTES_MAX);
    const char *label = o->label ? o->label : o->url ? o->url : "";
    printf("\n%s%s%s\n", figure, *label ? ": " : "", label);
}

void report_value(struct report *r, const char *name, double value, const char *unit) {
    printf("  %-34s %14.*f %s\n", name, value >= 1000 || value <= -1000 ? 0 : 3, value, unit);
    fflush(stdout);
    buf_addf(&r->rows, "%s\n    \"%s\": {\"value\": %.6g, \"unit\": \"%s\"}", r->any ? "," : "",
             name, value, unit);
    r->any = true;
}

void report_hist(struct report *r, const char *name, const struct hist *h) {
    static const struct {
        const char *name;
        double share;
    } at[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"max", 1}};
    char full[96];
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        (void)snprintf(full, sizeof full, "%s_%s", name, at[i].name);
        report_value(r, full, (double)hist_at(h, at[i].share) / 1e6, "ms");
    }
    (void)snprintf(full, sizeof full, "%s_samples", name);
    report_value(r, full, (double)h->n, "samples");
}

static void command_line(struct jw *w, const struct options *o) {
    struct buf b;
    bool hide = false;
    buf_init(&b, REPORT_BYTES_MAX);
    for (int i = 0; i < o->argc; i++) { /* the key is a secret */
        buf_addf(&b, "%s%s", i > 0 ? " " : "", hide ? "..." : o->argv[i]);
        hide = strcmp(o->argv[i], "--key") == 0;
    }
    jw_kstr(w, "command", buf_str(&b));
    buf_fini(&b);
}

int report_end(struct report *r) {
    const struct options *o = r->o;
    int rc = 0;
    if (o->json) {
        struct buf b;
        struct jw w;
        char now[TIME_LEN + 1];
        buf_init(&b, REPORT_BYTES_MAX);
        jw_init(&w, &b);
        time_format(clock_wall_ms(), now);
        jw_object(&w);
        jw_kstrz(&w, "figure", r->figure);
        jw_kstrz(&w, "label", o->label ? o->label : "");
        jw_kstrz(&w, "at", now);
        jw_kstrz(&w, "commit", o->commit ? o->commit : "unknown");
        command_line(&w, o);
        jw_key(&w, "machine");
        proc_facts(&w);
        jw_kstrz(&w, "sqlite", sqlite3_libversion());
        jw_kstrz(&w, "libmicrohttpd", MHD_get_version());
        jw_end_object(&w);
        b.len--; /* reopen the object for the rows, which are written already */
        buf_addf(&b, ",\n  \"results\": {%s\n  }}\n", r->rows.p ? r->rows.p : "");
        FILE *f = fopen(o->json, "w");
        bool ok = f && !buf_failed(&b) && fwrite(b.p, 1, b.len, f) == b.len;
        if (f && fclose(f) != 0) ok = false;
        if (!ok) fprintf(stderr, "wopr-bench: cannot write %s\n", o->json);
        rc = ok ? 0 : 1;
        buf_fini(&b);
    }
    buf_fini(&r->rows);
    return rc;
}
