/*
 * route.c: what an operator says about the way out: a proxy, and whose certificates count.
 */
#define _GNU_SOURCE /* memmem */
#include "base/buf.h"
#include "base/fs.h"
#include "egress/curl_late.h"
#include "egress/egress.h"

#include <string.h>

#define CA_BYTES_MAX (16u * 1024 * 1024)

static const char BEGIN[] = "-----BEGIN CERTIFICATE-----";

static bool part_is(CURLU *h, CURLUPart part, const char *want) {
    char *got = NULL;
    bool has = curl_url_get(h, part, &got, 0) == CURLUE_OK;
    bool ok = want ? has && strcmp(got, want) == 0 : !has;
    curl_free(got);
    return ok;
}

int egress_proxy_check(const char *url, struct wopr_error *err) {
    char *port = NULL, *host = NULL;
    if (!url || !*url) return 0;
    int rc = curl_late(err);
    if (rc != 0) return rc;
    CURLU *h = curl_url();
    bool ok = h && curl_url_set(h, CURLUPART_URL, url, 0) == CURLUE_OK &&
              curl_url_get(h, CURLUPART_PORT, &port, 0) == CURLUE_OK &&
              curl_url_get(h, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
              part_is(h, CURLUPART_SCHEME, "http") && part_is(h, CURLUPART_PATH, "/") &&
              part_is(h, CURLUPART_USER, NULL) && part_is(h, CURLUPART_PASSWORD, NULL) &&
              part_is(h, CURLUPART_QUERY, NULL) && part_is(h, CURLUPART_FRAGMENT, NULL);
    curl_free(port);
    curl_free(host);
    curl_url_cleanup(h);
    return ok ? 0
              : wopr_error_set(err, WOPR_E_CONFIG,
                               "not of the form http://HOST:PORT, without user, path or query "
                               "(credentials: egress-proxy-user)");
}

int egress_ca_check(const char *file, struct wopr_error *err) {
    struct buf b;
    if (!file || !*file) return 0;
    enum fs_read got = fs_read(file, CA_BYTES_MAX, &b);
    bool found = got == FS_READ_OK && b.len > 0 && memmem(b.p, b.len, BEGIN, sizeof BEGIN - 1);
    if (got == FS_READ_OK) buf_fini(&b);
    if (found) return 0;
    return wopr_error_set(err, WOPR_E_CONFIG,
                          got == FS_READ_OK ? "%s holds no certificate in PEM"
                                            : "%s cannot be read, or is larger than 16 MiB",
                          file);
}
