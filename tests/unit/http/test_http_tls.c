/*
 * test_http_tls.c: the same server behind TLS, with a certificate made for the test.
 */
#include "http_world.h"

#include <criterion/criterion.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <unistd.h>

static char cert_path[64], key_path[64];

static void write_file(char *path, size_t size, const gnutls_datum_t *d) {
    snprintf(path, size, "/tmp/wopr-tls-XXXXXX");
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
    make_certificate();
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

Test(http_tls, requests_and_streams_work_behind_tls, .timeout = 60) {
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

Test(http_tls, half_a_configuration_is_refused, .timeout = 60) {
    world_up(NULL);
    struct http_server *s;
    struct wopr_error err = {0};
    struct http_config cfg = {.ops_port = -1, .tls_cert_file = "/nonexistent"};
    cr_expect_eq(http_server_new(&cfg, &W.wire, W.log, &s, &err), WOPR_E_CONFIG);
    cfg.tls_key_file = "/nonexistent";
    cr_expect_eq(http_server_new(&cfg, &W.wire, W.log, &s, &err), WOPR_E_CONFIG);
    world_down();
}
