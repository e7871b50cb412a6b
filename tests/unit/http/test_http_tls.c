/*
 * test_http_tls.c: the same server behind TLS, with a certificate made for the test.
 */
#include "http_world.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <unistd.h>

static char cert_path[256], key_path[256];

static void write_file(char *path, size_t size, const gnutls_datum_t *d) {
    cr_assert(folder_template(path, size, "tls"));
    int fd = mkstemp(path);
    cr_assert(fd >= 0);
    cr_assert_eq(write(fd, d->data, d->size), (ssize_t)d->size);
    close(fd);
}

static void make_certificate(void) {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t crt;
    gnutls_datum_t d;
    gnutls_x509_privkey_init(&key);
    gnutls_x509_crt_init(&crt);
    cr_assert_eq(gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA,
                                              GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0),
                 0);
    gnutls_x509_crt_set_version(crt, 3);
    gnutls_x509_crt_set_serial(crt, "\x01", 1);
    gnutls_x509_crt_set_activation_time(crt, clock_wall_ms() / 1000 - 60);
    gnutls_x509_crt_set_expiration_time(crt, clock_wall_ms() / 1000 + 3600);
    gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "localhost", 9);
    gnutls_x509_crt_set_key(crt, key);
    cr_assert_eq(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
    cr_assert_eq(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &d), 0);
    write_file(cert_path, sizeof cert_path, &d);
    gnutls_free(d.data);
    cr_assert_eq(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &d), 0);
    write_file(key_path, sizeof key_path, &d);
    gnutls_free(d.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

static void with_tls(struct http_config *cfg) {
    static const char *const allowed[] = {"h", NULL};
    make_certificate();
    cfg->allowed_hosts = allowed;
    cfg->tls_cert_file = cert_path;
    cfg->tls_key_file = key_path;
}

/* Read into c->body until text occurs. */
static bool tls_until(gnutls_session_t s, struct client *c, const char *text) {
    char piece[4096];
    while (!body_has(c, text)) {
        ssize_t n = gnutls_record_recv(s, piece, sizeof piece);
        if (n <= 0) return false;
        buf_add(&c->body, piece, (size_t)n);
    }
    return true;
}

Test(http_tls, requests_and_streams_work_behind_tls, .timeout = 300) {
    world_up(with_tls);
    int64_t no = world_run("r1");
    struct client *c = dial();
    gnutls_session_t s;
    gnutls_certificate_credentials_t cred;
    gnutls_certificate_allocate_credentials(&cred);
    gnutls_init(&s, GNUTLS_CLIENT);
    gnutls_set_default_priority(s);
    gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, cred);
    gnutls_transport_set_int(s, c->fd);
    cr_assert_eq(gnutls_handshake(s), 0);
    char text[512];
    int n = snprintf(text, sizeof text, "GET /v1/runs/x HTTP/1.1\r\nHost: h:1\r\n%s\r\n", bearer());
    cr_assert_eq(gnutls_record_send(s, text, (size_t)n), n);
    cr_expect(tls_until(s, c, "\"base\":\"https://h:1\""));
    n = snprintf(text, sizeof text, "GET /v1/runs/r1/events?no=%lld HTTP/1.1\r\nHost: h\r\n%s\r\n",
                 (long long)no, bearer());
    cr_assert_eq(gnutls_record_send(s, text, (size_t)n), n);
    cr_expect(tls_until(s, c, ":ok"));
    world_append(no, "r1", 0, (struct seed[]){{EV_RUN_STARTED, NULL}}, 1);
    cr_expect(tls_until(s, c, "run.started"));
    gnutls_deinit(s);
    gnutls_certificate_free_credentials(cred);
    hang_up(c);
    world_down();
    unlink(cert_path);
    unlink(key_path);
}

static bool shakes_hands(const char *priorities, const char **version) {
    struct client *c = dial();
    gnutls_session_t s;
    gnutls_certificate_credentials_t cred;
    gnutls_certificate_allocate_credentials(&cred);
    gnutls_init(&s, GNUTLS_CLIENT);
    cr_assert_eq(gnutls_priority_set_direct(s, priorities, NULL), 0, "%s", priorities);
    gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, cred);
    gnutls_transport_set_int(s, c->fd);
    int rc;
    do rc = gnutls_handshake(s);
    while (rc < 0 && gnutls_error_is_fatal(rc) == 0);
    *version = gnutls_protocol_get_name(gnutls_protocol_get_version(s));
    gnutls_deinit(s);
    gnutls_certificate_free_credentials(cred);
    hang_up(c);
    return rc == 0;
}

Test(http_tls, old_versions_and_weak_ciphers_are_refused /* RFC 8996, RFC 9325 */, .timeout = 300) {
    static const struct {
        const char *offer, *version; /* version NULL: refused */
    } ROWS[] = {
        {"NORMAL:-VERS-ALL:+VERS-TLS1.3", "TLS1.3"},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.2", "TLS1.2"},
        {"NORMAL", "TLS1.3"},
        {"LEGACY:-VERS-ALL:+VERS-TLS1.1:%VERIFY_ALLOW_SIGN_WITH_SHA1", NULL},
        {"LEGACY:-VERS-ALL:+VERS-TLS1.0:%VERIFY_ALLOW_SIGN_WITH_SHA1", NULL},
        {"NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-CBC:+AES-256-CBC", NULL},
    };
    world_up(with_tls);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const char *version = NULL;
        bool ok = shakes_hands(ROWS[i].offer, &version);
        cr_expect_eq(ok, ROWS[i].version != NULL, "%s", ROWS[i].offer);
        if (ok && ROWS[i].version) cr_expect_str_eq(version, ROWS[i].version);
    }
    world_down();
    unlink(cert_path);
    unlink(key_path);
}

/* What a client says is judged behind TLS as it is before it, however its records are cut. */
Test(http_tls, pipelines_and_single_bytes_and_refusals_work_behind_tls, .timeout = 300) {
    world_up(with_tls);
    for (size_t piece = 1; piece < 2000; piece *= 7) {
        struct client *c = dial();
        gnutls_session_t s;
        gnutls_certificate_credentials_t cred;
        gnutls_certificate_allocate_credentials(&cred);
        gnutls_init(&s, GNUTLS_CLIENT);
        gnutls_set_default_priority(s);
        gnutls_credentials_set(s, GNUTLS_CRD_CERTIFICATE, cred);
        gnutls_transport_set_int(s, c->fd);
        cr_assert_eq(gnutls_handshake(s), 0);
        char text[2048];
        size_t n = (size_t)snprintf(
            text, sizeof text,
            "GET /v1/runs/one HTTP/1.1\r\nHost: h\r\n%s\r\n"
            "POST /v1/echo HTTP/1.1\r\nHost: h\r\n%sContent-Length: 9\r\n\r\n{\"two\":2}"
            "POST /v1/echo HTTP/1.1\r\nHost: h\r\n%sTransfer-Encoding: chunked\r\n\r\n"
            "4\r\n{\"th\r\n7\r\nree\":3}\r\n0\r\n\r\n"
            "GET /v1/runs/four HTTP/1.1\r\nHost : h\r\n\r\n",
            bearer(), bearer(), bearer());
        for (size_t at = 0; at < n; at += piece) {
            size_t k = piece < n - at ? piece : n - at;
            cr_assert_eq(gnutls_record_send(s, text + at, k), (ssize_t)k);
        }
        cr_expect(tls_until(s, c, "\"id\":\"one\""), "in pieces of %zu", piece);
        cr_expect(tls_until(s, c, "{\"two\":2}"), "in pieces of %zu", piece);
        cr_expect(tls_until(s, c, "{\"three\":3}"), "in pieces of %zu", piece);
        cr_expect(tls_until(s, c, "HTTP/1.1 400"), "in pieces of %zu", piece);
        cr_expect_not(tls_until(s, c, "never"), "the end");
        gnutls_deinit(s);
        gnutls_certificate_free_credentials(cred);
        hang_up(c);
    }
    world_down();
    unlink(cert_path);
    unlink(key_path);
}

Test(http_tls, half_a_configuration_is_refused, .timeout = 300) {
    world_up(NULL);
    struct http_server *s;
    struct wopr_error err = {0};
    struct http_config cfg = {.ops_port = -1, .tls_cert_file = "/nonexistent"};
    cr_expect_eq(http_server_new(&cfg, W.mounts, 1, W.journal, &s, &err), WOPR_E_CONFIG);
    cfg.tls_key_file = "/nonexistent";
    cr_expect_eq(http_server_new(&cfg, W.mounts, 1, W.journal, &s, &err), WOPR_E_CONFIG);
    world_down();
}
