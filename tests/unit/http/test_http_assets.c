/*
 * test_http_assets.c: the dashboard's files as a browser gets them: packed or not, asked for again,
 * under headers that bind the page.
 */
#include "codec/gzip.h"
#include "http/assets.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct http_assets *assets;

static void up(void) {
    struct wopr_error err = {0};
    cr_assert_eq(http_assets_new(&assets, &err), 0, "%s", err.message);
    world_up_with(NULL, http_assets_mount(assets));
}
static void down(void) {
    world_down();
    http_assets_free(assets);
}
TestSuite(http_assets, .init = up, .fini = down, .timeout = 300);

static struct client *get(const char *path, const char *headers) {
    return ask("GET", path, headers, NULL);
}

/* Of an answer without a body, whose length is that of the one it stands for. */
static struct client *head_of(const char *method, const char *path, const char *headers) {
    struct client *c = dial();
    say(c, "%s %s HTTP/1.1\r\nHost: host.example\r\n%sConnection: close\r\n\r\n", method, path,
        headers);
    cr_assert(hear_head(c), "no answer to %s %s", method, path);
    cr_expect(is_closed(c), "%s %s: a body", method, path);
    return c;
}

static void expect_header(struct client *c, const char *name, const char *part) {
    const char *got = header_of(c, name);
    cr_expect(got && strstr(got, part), "%s: %s", name, got ? got : "absent");
}

static int piece_add(void *ctx, struct str piece, struct wopr_error *err) {
    (void)err;
    buf_adds(ctx, piece);
    return 0;
}

Test(http_assets, a_file_is_the_same_packed_and_not) {
    const struct gunzip_bounds bounds = {.bytes_max = 1 << 20, .ratio_max = UINT64_MAX};
    struct buf text;
    struct wopr_error err = {0};
    struct client *plain = get("/ui/", ""), *packed = get("/ui/", "Accept-Encoding: br, gzip\r\n");
    cr_assert_eq(plain->status, 200);
    cr_expect(body_has(plain, "<!doctype html>"));
    cr_expect_null(header_of(plain, "Content-Encoding"));
    cr_assert_eq(packed->status, 200);
    expect_header(packed, "Content-Encoding", "gzip");
    expect_header(packed, "Vary", "Accept-Encoding");
    buf_init(&text, 1 << 20);
    cr_assert_eq(gunzip(buf_str(&packed->body), &bounds, piece_add, &text, &err), 0);
    cr_expect(str_eq(buf_str(&text), buf_str(&plain->body)));
    buf_fini(&text);
    hang_up(plain);
    hang_up(packed);
}

Test(http_assets, a_weight_of_zero_refuses_gzip) {
    static const char *const refusing[] = {"", "Accept-Encoding: identity\r\n",
                                           "Accept-Encoding: gzip;q=0\r\n",
                                           "Accept-Encoding: br, gzip; q=0.000\r\n"},
                             *const taking[] = {"Accept-Encoding: gzip\r\n",
                                                "Accept-Encoding: deflate, GZIP;q=0.5\r\n"};
    for (size_t i = 0; i < sizeof refusing / sizeof *refusing; i++) {
        struct client *c = get("/ui/icon.svg", refusing[i]);
        cr_expect_null(header_of(c, "Content-Encoding"), "%s", refusing[i]);
        cr_expect(body_has(c, "<svg"));
        hang_up(c);
    }
    for (size_t i = 0; i < sizeof taking / sizeof *taking; i++) {
        struct client *c = get("/ui/icon.svg", taking[i]);
        expect_header(c, "Content-Encoding", "gzip");
        hang_up(c);
    }
}

Test(http_assets, what_is_known_is_not_sent_again) {
    static const char *const codings[] = {"", "Accept-Encoding: gzip\r\n"};
    char tags[2][80];
    for (size_t i = 0; i < 2; i++) {
        struct client *c = get("/ui/", codings[i]);
        snprintf(tags[i], sizeof tags[i], "%s", header_of(c, "ETag"));
        expect_header(c, "Cache-Control", "no-cache");
        hang_up(c);
        char headers[200];
        snprintf(headers, sizeof headers, "%sIf-None-Match: \"other\", W/%s\r\n", codings[i],
                 tags[i]);
        c = head_of("GET", "/ui/", headers);
        cr_expect_eq(c->status, 304);
        hang_up(c);
    }
    cr_expect_str_neq(tags[0], tags[1], "one validator for two encodings");
}

Test(http_assets, files_that_the_page_names_are_there_and_kept) {
    static const char *const kinds[][2] = {
        {"app.js", "text/javascript"}, {"app.css", "text/css"}, {"icon.svg", "image/svg+xml"}};
    struct client *page = get("/ui/", "");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char name[40], path[80];
        snprintf(name, sizeof name, "\"%s?", kinds[i][0]);
        const char *text = (const char *)page->body.p, *at = strstr(text, name);
        cr_assert(at, "%s is not named", name);
        snprintf(path, sizeof path, "/ui/%.*s", (int)strcspn(at + 1, "\""), at + 1);
        struct client *c = get(path, "");
        cr_expect_eq(c->status, 200, "%s", path);
        expect_header(c, "Content-Type", kinds[i][1]);
        expect_header(c, "Cache-Control", "immutable");
        hang_up(c);
    }
    hang_up(page);
}

Test(http_assets, every_answer_below_the_prefix_binds_the_page) {
    static const char *const paths[] = {"/ui/", "/ui/icon.svg", "/ui/nothing.js", "/ui"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct client *c = get(paths[i], "");
        expect_header(c, "Content-Security-Policy", "default-src 'none'; script-src 'self';");
        expect_header(c, "Content-Security-Policy", "frame-ancestors 'none'");
        expect_header(c, "X-Content-Type-Options", "nosniff");
        expect_header(c, "Referrer-Policy", "no-referrer");
        hang_up(c);
    }
}

Test(http_assets, other_paths_and_methods_are_refused_in_a_line) {
    struct client *c = get("/ui/../etc/passwd", "");
    cr_expect(c->status == 404 || c->status == 400, "%d", c->status);
    hang_up(c);
    c = get("/ui/nothing.js", "");
    cr_expect_eq(c->status, 404);
    expect_header(c, "Content-Type", "text/plain");
    hang_up(c);
    c = ask("POST", "/ui/", "Content-Length: 0\r\n", NULL);
    cr_expect_eq(c->status, 405);
    hang_up(c);
    c = head_of("HEAD", "/ui/", "");
    cr_expect_eq(c->status, 200);
    hang_up(c);
    c = get("/ui", "");
    cr_expect_eq(c->status, 308);
    expect_header(c, "Location", "/ui/");
    hang_up(c);
}

Test(http_assets, browsers_want_a_page_and_clients_do_not) {
    cr_expect(http_assets_wanted(STR("text/html,application/xhtml+xml,*/*;q=0.8")));
    cr_expect(http_assets_wanted(STR("TEXT/HTML")));
    cr_expect_not(http_assets_wanted(STR("*/*")));
    cr_expect_not(http_assets_wanted(STR("application/json, text/html;q=0.5")));
    cr_expect_not(http_assets_wanted(STR("")));
}
