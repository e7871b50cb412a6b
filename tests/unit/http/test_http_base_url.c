/*
 * test_http_base_url.c: absolute URLs in answers name what the settings vouch for, not what a
 * client says (RUN-4); headers that every answer has.
 */
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>

static const char *const ALLOWED[] = {"api.example", "other.example:8443", NULL};
static void allow(struct http_config *cfg) { cfg->allowed_hosts = ALLOWED; }
static void everywhere(struct http_config *cfg) { cfg->host = "0.0.0.0"; }
static void everywhere_allowed(struct http_config *cfg) {
    cfg->host = "0.0.0.0";
    cfg->allowed_hosts = ALLOWED;
}
static void published(struct http_config *cfg) { cfg->public_url = "https://wopr.example/"; }

/* Asked with this Host header; want NULL: the address the connection went to. */
static void expect_base(const char *host, const char *want) {
    char text[256];
    struct client *c = dial();
    say(c, "GET /v1/runs/x HTTP/1.1\r\nHost: %s\r\n%s\r\n", host, bearer());
    cr_assert(hear(c));
    cr_assert_eq(c->status, 200);
    if (want) (void)snprintf(text, sizeof text, "\"base\":\"%s\"", want);
    else
        (void)snprintf(text, sizeof text, "\"base\":\"http://127.0.0.1:%u\"",
                       http_server_port(W.server));
    cr_expect(body_has(c, text), "%s for %s: %.*s", text, host, (int)c->body.len, c->body.p);
    hang_up(c);
}

Test(http_base_url, a_loopback_host_repeats_its_own_names_only, .timeout = 300) {
    world_up(NULL);
    expect_base("localhost:9000", "http://localhost:9000");
    expect_base("LocalHost", "http://LocalHost");
    expect_base("127.0.0.1:8080", "http://127.0.0.1:8080");
    expect_base("[::1]:8080", "http://[::1]:8080");
    expect_base("evil.example", NULL);
    expect_base("evil.example:80", NULL);
    expect_base("localhost.evil.example", NULL);
    expect_base("127.0.0.1.evil.example", NULL);
    world_down();
}

Test(http_base_url, other_names_must_be_in_the_list, .timeout = 300) {
    world_up(allow);
    expect_base("api.example", "http://api.example");
    expect_base("API.example:8080", "http://API.example:8080");
    expect_base("other.example:8443", "http://other.example:8443");
    expect_base("other.example", NULL);
    expect_base("evil.example", NULL);
    world_down();
}

Test(http_base_url, beyond_loopback_nothing_is_repeated_unasked, .timeout = 300) {
    world_up(everywhere);
    expect_base("localhost:9000", NULL);
    expect_base("evil.example", NULL);
    world_down();
    world_up(everywhere_allowed);
    expect_base("api.example", "http://api.example");
    expect_base("evil.example", NULL);
    world_down();
}

Test(http_base_url, public_url_overrules_all, .timeout = 300) {
    world_up(published);
    expect_base("evil.example", "https://wopr.example");
    expect_base("localhost", "https://wopr.example");
    world_down();
}

static void expect_nosniff(const char *method, const char *path, int status) {
    struct client *c = ask(method, path, bearer(), NULL);
    cr_expect_eq(c->status, status, "%s: %d", path, c->status);
    const char *value = header_of(c, "X-Content-Type-Options");
    cr_expect(value && strcmp(value, "nosniff") == 0, "%s", path);
    hang_up(c);
}

Test(http_base_url, browsers_are_told_to_keep_to_the_content_type, .timeout = 300) {
    world_up(NULL);
    int64_t no = world_run("r1");
    char path[64];
    (void)snprintf(path, sizeof path, "/v1/runs/r1/events?ended=1&no=%lld", (long long)no);
    expect_nosniff("GET", "/v1/ping", 200);
    expect_nosniff("GET", "/v1/nothing", 404);
    expect_nosniff("GET", path, 200);
    world_down();
}
