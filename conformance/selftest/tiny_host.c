/* tiny_host.c: see tiny_host.h. */
#include "tiny_host.h"

#include "base/buf.h"
#include "base/embed.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define DOCUMENT_MAX 65536
#define FOLDER       "conformance/fixtures"
#define NOT_FOUND    "{\"error\":\"not_found\",\"message\":\"there is nothing here\"}"
#define CORE_MEMBERS                                                                               \
    "\"protocolVersion\":\"1.0\",\"supportedEnvelopes\":[\"clarification.request\"],"              \
    "\"schemaVersions\":{},\"limits\":{\"clarificationRounds\":1,\"schemaRounds\":1,"              \
    "\"envelopesPerTurn\":1}"
#define BOASTS                                                                                     \
    "\"testing\":{\"mockProviders\":[\"stream-text\"],\"testKeyPrefix\":\"hk_test_\","             \
    "\"forceEngineVersionRange\":{\"min\":0,\"max\":2}},\"secrets\":{\"supported\":true,"          \
    "\"scopes\":[\"tenant\",\"user\",\"run\"],\"resolution\":\"host-managed\"},"                   \
    "\"aiProviders\":{\"supported\":[\"x\"],\"byok\":[\"x\"],\"policies\":{\"modes\":["            \
    "\"optional\",\"restricted\"],\"scopes\":[\"workspace\"],\"errorCode\":\"denied\"}},"          \
    "\"replay\":{\"supported\":true,\"modes\":[\"replay\",\"branch\"]},\"debugBundle\":{"          \
    "\"supported\":true},\"runtimeCapabilities\":[\"x.y\"],\"capabilities\":{\"webhooks\":{"       \
    "\"supported\":true,\"signatureAlgorithms\":[\"v1\"]},\"idempotency\":{\"crossRegion\":"       \
    "\"strict\"}},"

struct tiny_host {
    enum tiny_kind kind;
    struct MHD_Daemon *daemon;
    struct buf document;
};

static void write_document(struct tiny_host *h) {
    bool first = true;
    buf_init(&h->document, DOCUMENT_MAX);
    if (h->kind == TINY_BARE) {
        buf_addz(&h->document, "{" CORE_MEMBERS "}");
        return;
    }
    buf_addz(&h->document, "{" CORE_MEMBERS "," BOASTS "\"fixtures\":[");
    for (const struct embed_file *f = EMBED_FILES; f->name != NULL; f++) {
        struct str name = str_c(f->name), folder, rest;
        if (!str_cut_last(name, '/', &folder, &rest) || !str_starts(folder, STR(FOLDER)) ||
            str_ends(folder, STR("manifests")))
            continue;
        buf_addf(&h->document, "%s\"%.*s\"", first ? "" : ",", (int)(rest.n - strlen(".json")),
                 rest.p);
        first = false;
    }
    buf_addz(&h->document, "]}");
}

static enum MHD_Result respond(struct MHD_Connection *c, unsigned status, struct str body) {
    struct MHD_Response *r =
        MHD_create_response_from_buffer(body.n, (void *)body.p, MHD_RESPMEM_MUST_COPY);
    if (r == NULL) return MHD_NO;
    MHD_add_response_header(r, "Content-Type", "application/json");
    MHD_add_response_header(r, "Cache-Control", "max-age=60");
    enum MHD_Result done = MHD_queue_response(c, status, r);
    MHD_destroy_response(r);
    return done;
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *c, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **request) {
    static int begun;
    const struct tiny_host *h = cls;
    (void)method, (void)version, (void)data;
    if (*request == NULL || *size > 0) { /* the body is read and dropped */
        *request = &begun;
        *size = 0;
        return MHD_YES;
    }
    if (h->kind == TINY_YES) return respond(c, 200, STR("{}"));
    if (strcmp(url, "/.well-known/openwop") == 0) return respond(c, 200, buf_str(&h->document));
    return respond(c, 404, STR(NOT_FOUND));
}

struct tiny_host *tiny_host_new(enum tiny_kind kind, int *port) {
    struct sockaddr_in a = {.sin_family = AF_INET};
    struct tiny_host *h = MEM_NEW(struct tiny_host);
    if (h == NULL) return NULL;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    h->kind = kind;
    write_document(h);
    if (!buf_failed(&h->document))
        h->daemon = MHD_start_daemon(MHD_USE_AUTO_INTERNAL_THREAD, 0, NULL, NULL, on_request, h,
                                     MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&a, MHD_OPTION_END);
    const union MHD_DaemonInfo *i =
        h->daemon != NULL ? MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (i == NULL) {
        tiny_host_free(h);
        return NULL;
    }
    *port = i->port;
    return h;
}

void tiny_host_free(struct tiny_host *h) {
    if (h == NULL) return;
    if (h->daemon != NULL) MHD_stop_daemon(h->daemon);
    buf_fini(&h->document);
    mem_free(h);
}
