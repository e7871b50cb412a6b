/* remote.c: requests of the command line to a running host; see cli.h. */
#include "cli/cli.h"
#include "codec/json.h"
#include "egress/operator.h"
#include "host/keys.h"

#include <stdio.h>
#include <stdlib.h>

#define REMOTE_TIMEOUT_MS 30000
#define PATH_MAX_BYTES    4096

const char *cli_take_url(struct cli *c) {
    const char *url = cli_take_value(c, "--url");
    return url != NULL ? url : getenv("WOPR_URL");
}

/* Reach a listener bound to every address by loopback. */
const char *cli_host_reachable(const char *host) {
    if (strcmp(host, "0.0.0.0") == 0) return "127.0.0.1";
    return strcmp(host, "::") == 0 ? "::1" : host;
}

int cli_remote(struct cli *c, const char *url, struct cli_remote *out) {
    const struct config *cfg = &c->cfg;
    struct wopr_error err = {0};
    out->key = c->key_file_named ? NULL : getenv("WOPR_API_KEY");
    if (out->key != NULL && out->key[0] == '\0') out->key = NULL;
    if (out->key == NULL && client_key(cfg, c->arena, &out->key, &err) != 0) return cli_fail(&err);
    if (out->key == NULL)
        return cli_usage("wopr: this command asks a running host and needs an API key: "
                         "WOPR_API_KEY, or --api-key-file FILE (data/dev-api-key is found by "
                         "itself)\n");
    if (url != NULL && url[0] != '\0') {
        struct str base = str_c(url);
        while (base.n > 0 && base.p[base.n - 1] == '/') base.n--;
        out->base = arena_cstr(c->arena, base);
    } else if (cfg->http_port == 0) {
        return cli_usage("wopr: say where the host listens: --url http://HOST:PORT, or --port\n");
    } else {
        const char *host = cli_host_reachable(cfg->http_host);
        bool v6 = strchr(host, ':') != NULL;
        out->base = arena_printf(c->arena, "%s://%s%s%s:%lld",
                                 cfg->http_tls_cert_file[0] != '\0' ? "https" : "http",
                                 v6 ? "[" : "", host, v6 ? "]" : "", (long long)cfg->http_port)
                        .p;
    }
    if (out->base != NULL) return 0;
    fputs("wopr: out of memory\n", stderr);
    return 1;
}

struct str cli_member(struct cli *c, struct str object, const char *name) {
    struct str raw = json_get(object, name);
    if (raw.p == NULL) return STR("-");
    struct str text = json_string(raw, c->arena);
    return cli_text(c, text.p != NULL ? text : raw);
}

/* Print the host's message and the place in the request that it names. */
static int answer_refused(struct cli *c, int status, struct str body) {
    if (json_check(body, &JSON_LIMITS_STORED, NULL) != 0 || json_type_of(body) != JSON_OBJECT) {
        fprintf(stderr, "wopr: the answer (status %d) is not that of a host; check --url\n",
                status);
        return 1;
    }
    fprintf(stderr, "wopr: " STR_FMT " (%d " STR_FMT ")\n", STR_ARG(cli_member(c, body, "message")),
            status, STR_ARG(cli_member(c, body, "error")));
    struct str details = json_get(body, "details");
    if (details.p != NULL) fprintf(stderr, "wopr: " STR_FMT "\n", STR_ARG(cli_text(c, details)));
    return 1;
}

int cli_ask(struct cli *c, const struct cli_remote *r, const char *method, struct str path,
            struct str body, struct str *answer) {
    return cli_ask_keyed(c, r, method, path, body, NULL, answer);
}

int cli_ask_keyed(struct cli *c, const struct cli_remote *r, const char *method, struct str path,
                  struct str body, const char *key, struct str *answer) {
    struct wopr_error err = {0};
    struct operator_answer a;
    struct operator_request q = {.base = r->base,
                                 .key = r->key,
                                 .method = method,
                                 .path = path,
                                 .body = body,
                                 .idempotency_key = key,
                                 .timeout_ms = REMOTE_TIMEOUT_MS};
    if (operator_ask(&q, c->arena, &a, &err) != 0) return cli_fail(&err);
    if (a.status / 100 != 2) return answer_refused(c, a.status, a.body);
    if (a.status != 204 && json_check(a.body, &JSON_LIMITS_STORED, &err) != 0)
        return answer_refused(c, a.status, a.body);
    *answer = a.body;
    return 0;
}

struct str cli_path(struct cli *c, const char *base, struct str id, const char *rest) {
    struct buf b;
    buf_init(&b, PATH_MAX_BYTES);
    buf_addz(&b, base);
    percent_encode(&b, id);
    buf_addz(&b, rest);
    struct str path = buf_failed(&b) ? STR_NONE : arena_str(c->arena, buf_str(&b));
    buf_fini(&b);
    return path;
}

int cli_ask_at(struct cli *c, const char *url, const char *method, struct str path, struct str body,
               struct str *answer) {
    struct cli_remote r;
    int rc = cli_remote(c, url, &r);
    if (rc != 0) return rc;
    if (path.p == NULL) return cli_usage("wopr: the arguments are too long\n");
    return cli_ask(c, &r, method, path, body, answer);
}
