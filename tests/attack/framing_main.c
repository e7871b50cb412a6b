/*
 * framing_main.c: attack_framing [--binary PATH] [--nginx PATH] [--all]
 * The heads of heads.c go to the host directly and through nginx in front of it, each with a marker
 * request behind it on the same connection.  Where nginx passes a message on and the host does not
 * refuse it, both must see the same requests; and what went through must leave the kept connection
 * between them clean.  Exit status 0: no disagreement; 1: some; 77: skipped, no nginx.
 */
#include "attack.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIP = 77, EXCHANGE_MS = 400, NGINX_UP_MS = 10000, STOP_MS = 20000 };

struct bench {
    const char *binary, *nginx;
    bool all; /* print every head */
    struct host host;
    pid_t proxy;
    int proxy_port;
    char folder[240];
};

static const char *find_nginx(void) {
    static const char *const places[] = {"/usr/sbin/nginx", "/usr/bin/nginx",
                                         "/usr/local/sbin/nginx"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0) return places[i];
    return NULL;
}

static const char CONFIG[] =
    "daemon off; master_process off; worker_processes 1;\n"
    "pid pid; error_log error.log crit;\n"
    "events { worker_connections 256; }\n"
    "http {\n"
    "  access_log off; keepalive_timeout 30; client_body_temp_path body;\n"
    "  proxy_temp_path proxy; fastcgi_temp_path fastcgi;\n"
    "  uwsgi_temp_path uwsgi; scgi_temp_path scgi;\n"
    "  upstream host { server 127.0.0.1:%d; keepalive 4; }\n"
    "  server {\n"
    "    listen 127.0.0.1:%d;\n"
    "    location / {\n"
    "      proxy_pass http://host; proxy_http_version 1.1; proxy_set_header Connection \"\";\n"
    "      proxy_set_header Host $host; proxy_request_buffering off; proxy_read_timeout 5;\n"
    "    }\n"
    "  }\n"
    "}\n";

static bool config_write(struct bench *b, char path[300]) {
    snprintf(b->folder, sizeof b->folder, "%s/nginx", b->host.dir);
    snprintf(path, 300, "%s/nginx.conf", b->folder);
    int fd = net_listen(&b->proxy_port); /* a port that is free just now */
    net_close(fd, false);
    if (fd < 0 || mkdir(b->folder, 0700) != 0) return false;
    FILE *f = fopen(path, "w");
    if (f == NULL) return false;
    bool ok = fprintf(f, CONFIG, b->host.port, b->proxy_port) > 0;
    return fclose(f) == 0 && ok;
}

static bool proxy_answers(const struct bench *b) {
    for (int64_t end = now_ms() + NGINX_UP_MS; now_ms() < end; nap_ms(20))
        if (net_once(b->proxy_port, FROM_BETA, NULL, "GET", "/.well-known/openwop", STR_NONE,
                     2000) == 200)
            return true;
    return false;
}

static bool proxy_up(struct bench *b) {
    char path[300];
    if (!config_write(b, path)) return false;
    b->proxy = fork();
    if (b->proxy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int null = open("/dev/null", O_RDWR);
        if (null >= 0) dup2(null, STDERR_FILENO);
        execl(b->nginx, b->nginx, "-p", b->folder, "-c", path, (char *)NULL);
        _exit(127);
    }
    return b->proxy > 0 && proxy_answers(b);
}

static void proxy_down(struct bench *b) {
    if (b->proxy <= 0) return;
    kill(b->proxy, SIGTERM);
    waitpid(b->proxy, NULL, 0);
    static const char *const left[] = {"body", "proxy", "fastcgi",    "uwsgi",
                                       "scgi", "pid",   "nginx.conf", "error.log"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", b->folder, left[i]);
        if (unlink(path) != 0) rmdir(path);
    }
    rmdir(b->folder);
}

static bool refused(const struct seen *s) { /* and nothing behind it is read */
    return s->closed && !s->marker && !s->smuggled && s->answers <= 1 &&
           (s->answers == 0 || s->status >= 400);
}

/* NULL, or what they disagree about. */
static const char *disagreement(const struct seen *direct, const struct seen *proxied) {
    if (refused(direct)) return NULL;
    if (proxied->proxy && proxied->answers <= 1) return NULL; /* not passed on */
    if (direct->smuggled && !proxied->smuggled) return "the host runs a request nginx does not see";
    if (!direct->smuggled && proxied->smuggled) return "nginx sees a request the host does not run";
    if (direct->closed && proxied->closed && direct->marker != proxied->marker)
        return "they end the message at different places";
    if (direct->answers > 2 && direct->answers != proxied->answers)
        return "they count different requests";
    return NULL;
}

/* The next caller of the kept connections must get the answer to his own request. */
static bool kept_clean(struct bench *b) {
    static const char want[] = "{\"runs\":[";
    struct line l;
    struct str body;
    line_init(&l, b->proxy_port, FROM_BETA);
    struct request q = {.method = "GET",
                        .path = "/v1/runs?limit=1",
                        .key = b->host.beta,
                        .wait_ms = 6000,
                        .close = true};
    int status = line_ask(&l, &q, &body);
    bool clean =
        status == 200 && body.n >= sizeof want - 1 && memcmp(body.p, want, sizeof want - 1) == 0;
    line_fini(&l);
    return clean;
}

static size_t compare(struct bench *b) {
    size_t bad = 0, passed = 0;
    for (size_t i = 0; i < HEADS_NR; i++) {
        struct seen direct, proxied;
        head_exchange(b->host.port, FROM_ATTACKER, b->host.alpha, &HEADS[i], EXCHANGE_MS, &direct);
        head_exchange(b->proxy_port, FROM_ATTACKER, b->host.alpha, &HEADS[i], EXCHANGE_MS,
                      &proxied);
        const char *why = disagreement(&direct, &proxied);
        if (why == NULL && !kept_clean(b)) why = "the kept connection is spoiled";
        passed += !proxied.proxy && proxied.answers > 0;
        bad += why != NULL;
        if (why == NULL && !b->all) continue;
        printf("%-44s direct %3d, %zu answers%s%s%s   nginx %3d, %zu answers%s%s%s   %s\n",
               HEADS[i].name, direct.status, direct.answers, direct.marker ? " marker" : "",
               direct.smuggled ? " SMUGGLED" : "", direct.closed ? "" : " open", proxied.status,
               proxied.answers, proxied.marker ? " marker" : "",
               proxied.smuggled ? " SMUGGLED" : "", proxied.closed ? "" : " open",
               why != NULL ? why : "agreed");
    }
    printf("framing: %zu heads, %zu passed on by nginx, %zu disagreements\n", HEADS_NR, passed,
           bad);
    return bad;
}

static int skipped(const char *why) {
    printf("framing: skipped: %s\n", why);
    return SKIP;
}

int main(int argc, char **argv) {
    struct bench b = {.binary = WOPR_PROGRAM, .nginx = find_nginx()};
    char why[512] = "";
    int64_t took;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0) b.all = true;
        else if (strcmp(argv[i], "--binary") == 0 && i + 1 < argc) b.binary = argv[++i];
        else if (strcmp(argv[i], "--nginx") == 0 && i + 1 < argc) b.nginx = argv[++i];
        else return fprintf(stderr, "usage: attack_framing [--binary P] [--nginx P] [--all]\n"), 2;
    }
    if (b.nginx == NULL) return skipped("nginx is not installed (nginx-light)");
    (void)signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const struct host_start s = {.binary = b.binary};
    if (!host_up(&b.host, &s, why, sizeof why)) return fprintf(stderr, "framing: %s\n", why), 1;
    const bool up = proxy_up(&b);
    size_t bad = up ? compare(&b) : 0;
    proxy_down(&b);
    int rc = host_stop(&b.host, STOP_MS, &took);
    if (rc != 0) fprintf(stderr, "framing: the host ended with %d\n", rc);
    host_remove(&b.host);
    if (!up) return skipped("nginx does not start with our configuration");
    return bad > 0 || rc != 0;
}
