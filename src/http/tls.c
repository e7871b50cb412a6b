/*
 * tls.c: the certificate and key files, read and tried before anything listens, so that a message
 * can name the file that is wrong.
 */
#include "base/fs.h"
#include "http/client_cert.h"
#include "http/server.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

enum { PEM_MAX = 1024 * 1024 };

static int read_pem(const char *path, const char *flag, char **out, struct wopr_error *err) {
    struct buf b;
    enum fs_read result = fs_read(path, PEM_MAX, &b);
    if (result == FS_READ_NO_FILE)
        return wopr_error_at(err, WOPR_E_CONFIG, flag, "cannot open the TLS file %s", path);
    if (result != FS_READ_OK || b.len == 0) {
        if (result == FS_READ_OK) buf_fini(&b);
        return wopr_error_at(err, WOPR_E_CONFIG, flag, "cannot read the TLS file %s", path);
    }
    size_t n;
    *out = buf_take(&b, &n);
    return 0;
}

static gnutls_datum_t pem_datum(char *pem) {
    return (gnutls_datum_t){(unsigned char *)pem, (unsigned)strlen(pem)};
}

static int certificates_ok(char *pem) {
    gnutls_x509_crt_t *list = NULL;
    unsigned n = 0;
    gnutls_datum_t d = pem_datum(pem);
    int rc = gnutls_x509_crt_list_import2(&list, &n, &d, GNUTLS_X509_FMT_PEM, 0);
    for (unsigned i = 0; rc >= 0 && i < n; i++) gnutls_x509_crt_deinit(list[i]);
    if (rc >= 0) gnutls_free(list);
    return rc;
}

static int key_ok(char *pem) {
    gnutls_x509_privkey_t key;
    gnutls_datum_t d = pem_datum(pem);
    int rc = gnutls_x509_privkey_init(&key);
    if (rc < 0) return rc;
    rc = gnutls_x509_privkey_import2(key, &d, GNUTLS_X509_FMT_PEM, NULL, 0);
    gnutls_x509_privkey_deinit(key);
    return rc;
}

static int pair_ok(char *cert, char *key) {
    gnutls_certificate_credentials_t both;
    gnutls_datum_t c = pem_datum(cert), k = pem_datum(key);
    int rc = gnutls_certificate_allocate_credentials(&both);
    if (rc < 0) return rc;
    rc = gnutls_certificate_set_x509_key_mem(both, &c, &k, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(both);
    return rc;
}

int tls_load(struct http_server *s, struct wopr_error *err) {
    const char *cert = s->cfg.tls_cert_file, *key = s->cfg.tls_key_file;
    if (!cert) return 0;
    int rc = read_pem(cert, "tls-cert", &s->listen.tls_cert, err);
    if (rc == 0) rc = read_pem(key, "tls-key", &s->listen.tls_key, err);
    if (rc != 0) return rc;
    if ((rc = certificates_ok(s->listen.tls_cert)) < 0)
        return wopr_error_at(err, WOPR_E_CONFIG, "tls-cert",
                             "%s holds no PEM certificate chain that can be used: %s", cert,
                             gnutls_strerror(rc));
    if ((rc = key_ok(s->listen.tls_key)) < 0)
        return wopr_error_at(
            err, WOPR_E_CONFIG, "tls-key",
            "%s holds no PEM private key that can be used (without a password): %s", key,
            gnutls_strerror(rc));
    if ((rc = pair_ok(s->listen.tls_cert, s->listen.tls_key)) < 0)
        return wopr_error_at(err, WOPR_E_CONFIG, "tls-key",
                             "the private key %s does not belong to the certificate %s: %s", key,
                             cert, gnutls_strerror(rc));
    if (!s->cfg.tls_clients_file) return 0;
    rc = client_rules_load(s->cfg.tls_clients_file, &s->listen.clients, err);
    return rc == 0 ? client_authorities_check(s->listen.clients, err) : rc;
}
