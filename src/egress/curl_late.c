/* curl_late.c: see curl_late.h. */
#include "egress/curl_late.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

struct curl_late CURL_LATE;

struct curl_row {
    const char *name;
    size_t at; /* of its pointer in the table */
};
static const struct curl_row ROWS[] = {
#define ROW(name) {"curl_" #name, offsetof(struct curl_late, name)},
    CURL_LATE_ROWS(ROW)
#undef ROW
};

/* ISO C has no way from an object pointer to a function pointer but its bytes; POSIX (dlsym) has
 * them alike. */
static bool table_fill(void *library) {
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        void *found = dlsym(library, ROWS[i].name);
        if (!found) return false;
        memcpy((char *)&CURL_LATE + ROWS[i].at, &found, sizeof found);
    }
    return true;
}

static int curl_late_load(struct wopr_error *err) {
    void *library = dlopen(WOPR_CURL_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (library && table_fill(library) && curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
        return 0;
    const char *why = dlerror();
    (void)wopr_error_set(err, WOPR_E_UNAVAILABLE,
                         "libcurl cannot be loaded (%s), nothing can leave this host; install it",
                         why ? why : "out of memory");
    if (library) (void)dlclose(library);
    return WOPR_E_UNAVAILABLE;
}

int curl_late(struct wopr_error *err) {
    static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
    static atomic_bool loaded;
    int rc = 0;
    if (atomic_load_explicit(&loaded, memory_order_acquire)) return 0;
    pthread_mutex_lock(&mu);
    if (!atomic_load(&loaded)) rc = curl_late_load(err);
    if (rc == 0) atomic_store_explicit(&loaded, true, memory_order_release);
    pthread_mutex_unlock(&mu);
    return rc;
}
