/*
 * opsd.c: the second listener, for operators only (HTTP-2): /healthz, /readyz, /metrics.
 */
#include "http/http_internal.h"

#include <unistd.h>

enum { OPSD_CONNECTIONS_MAX = 64, OPSD_TIMEOUT_S = 10, OPSD_TEXT_MAX = 8 * 1024 * 1024 };

static enum MHD_Result answer(struct MHD_Connection *conn, unsigned status, const char *type,
                              struct str text) {
    struct MHD_Response *r =
        MHD_create_response_from_buffer(text.n, (void *)(uintptr_t)text.p, MHD_RESPMEM_MUST_COPY);
    if (!r) return MHD_NO;
    (void)MHD_add_response_header(r, "Content-Type", type);
    (void)MHD_add_response_header(r, "Cache-Control", "no-store");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(r, "Allow", "GET, HEAD");
    enum MHD_Result ok = MHD_queue_response(conn, status, r);
    MHD_destroy_response(r);
    return ok;
}

static enum MHD_Result answer_metrics(struct http_server *s, struct MHD_Connection *conn) {
    struct buf b;
    buf_init(&b, OPSD_TEXT_MAX);
    metrics_render(s, &b);
    enum MHD_Result ok =
        buf_failed(&b)
            ? answer(conn, MHD_HTTP_INTERNAL_SERVER_ERROR, "text/plain", STR("too large\n"))
            : answer(conn, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", buf_str(&b));
    buf_fini(&b);
    return ok;
}

static enum MHD_Result ops_access(void *cls, struct MHD_Connection *conn, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **con_cls) {
    static int second_call;
    (void)version, (void)data;
    struct http_server *s = cls;
    if (!*con_cls) {
        *con_cls = &second_call;
        return MHD_YES;
    }
    if (*size > 0) {
        *size = 0;
        return MHD_YES;
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return answer(conn, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", STR("use GET\n"));
    if (strcmp(url, "/healthz") == 0) return answer(conn, MHD_HTTP_OK, "text/plain", STR("ok\n"));
    if (strcmp(url, "/metrics") == 0) return answer_metrics(s, conn);
    if (strcmp(url, "/readyz") != 0)
        return answer(conn, MHD_HTTP_NOT_FOUND, "text/plain", STR("not found\n"));
    if (server_draining(s))
        return answer(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain", STR("draining\n"));
    if (s->cfg.ready && !s->cfg.ready(s->cfg.metrics_ctx))
        return answer(conn, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain", STR("not ready\n"));
    return answer(conn, MHD_HTTP_OK, "text/plain", STR("ready\n"));
}

int opsd_start(struct http_server *s, struct wopr_error *err) {
    if (s->cfg.ops_port < 0) return 0;
    int rc = listen_on(s->cfg.ops_host, (uint16_t)s->cfg.ops_port, &s->ops_fd, &s->ops_port, err);
    if (rc != 0) return rc;
    s->ops_daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL, ops_access,
        s, MHD_OPTION_EXTERNAL_LOGGER, server_mhd_log, s, MHD_OPTION_LISTEN_SOCKET, s->ops_fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)OPSD_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)OPSD_TIMEOUT_S, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (s->ops_daemon) return 0;
    (void)close(s->ops_fd);
    s->ops_fd = -1;
    return wopr_error_set(err, WOPR_E_IO, "the operations listener on %s could not be started",
                          s->cfg.ops_host);
}

void opsd_stop(struct http_server *s) {
    if (!s->ops_daemon) return;
    MHD_stop_daemon(s->ops_daemon);
    s->ops_daemon = NULL;
    s->ops_fd = -1; /* closed by the daemon */
}
