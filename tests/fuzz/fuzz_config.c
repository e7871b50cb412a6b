/*
 * fuzz_config.c: settings from a file and from flags.
 *  - any bytes are a configuration or a refusal with a message;
 *  - a configuration that was taken prints as JSON that shows no secret;
 *  - what it prints loads again to the same settings (the secret aside).
 */
#include "base/arena.h"
#include "codec/json.h"
#include "host/config.h"

#include <stdio.h>
#include <unistd.h>

enum { FUZZ_BYTES_MAX = 1 << 13, ARENA_BYTES = 8 << 20, ARGS_MAX = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The path of a file with these bytes. */
static const char *as_file(struct str text) {
    static char path[64];
    static FILE *f;
    if (!f) f = tmpfile();
    ASSERT(f != NULL);
    int fd = fileno(f);
    ASSERT(ftruncate(fd, 0) == 0);
    ASSERT(text.n == 0 || pwrite(fd, text.p, text.n, 0) == (ssize_t)text.n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

static int load(struct config *c, struct str file, char **args, int n, struct arena *a,
                struct wopr_error *err) {
    char *argv[ARGS_MAX + 2];
    int argc = 0;
    for (int i = 0; i < n; i++) argv[argc++] = args[i];
    if (file.p) {
        argv[argc++] = arena_cstr(a, STR("--config"));
        argv[argc++] = arena_cstr(a, str_c(as_file(file)));
    }
    int before = argc;
    int rc = config_load(c, &argc, argv, a, err);
    ASSERT(argc <= before);
    return rc;
}

static void check_round(const struct config *c, struct arena *a) {
    struct config again;
    struct wopr_error err = {0};
    struct buf b, d;
    buf_init(&b, 1 << 20);
    buf_init(&d, 1 << 20);
    config_print(c, &b);
    ASSERT(!buf_failed(&b) && json_check(buf_str(&b), &JSON_LIMITS_DEFAULT, NULL) == 0);
    struct str key = json_string(json_get(buf_str(&b), "api-key"), a);
    ASSERT(key.n == 0 ? c->host_api_key[0] == '\0' : str_eqc(key, "[REDACTED]"));
    ASSERT(load(&again, buf_str(&b), NULL, 0, a, &err) == 0);
    config_print(&again, &d);
    ASSERT(str_eq(buf_str(&b), buf_str(&d)));
    buf_fini(&d);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    char *args[ARGS_MAX];
    int n = 0;
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    struct arena *a = arena_new(ARENA_BYTES);
    struct str text = str_n((const char *)data + 1, len - 1), rest = text, line;
    struct config c;
    struct wopr_error err = {0};
    ASSERT(a != NULL);
    bool from_file = (data[0] & 1) != 0;
    while (!from_file && n < ARGS_MAX && str_cut(rest, '\n', &line, &rest)) {
        args[n] = arena_cstr(a, line);
        if (strstr(args[n], "config") == NULL) n++; /* no other files */
    }
    int rc = load(&c, from_file ? text : STR_NONE, args, n, a, &err);
    ASSERT(rc == 0 || rc == WOPR_E_CONFIG);
    if (rc != 0) ASSERT(err.message[0] != '\0' && utf8_valid(str_c(err.pointer)));
    if (rc == 0) {
        rc = config_check(&c, &err);
        ASSERT(rc == 0 || (rc == WOPR_E_CONFIG && err.message[0] != '\0'));
        (void)config_list(c.http_cors_origins, a);
        check_round(&c, a);
    }
    arena_free(a);
    return 0;
}
