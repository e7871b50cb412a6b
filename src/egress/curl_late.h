/*
 * curl_late.h: libcurl, loaded when something first leaves.
 *
 * libcurl brings some 25 libraries (Kerberos, LDAP, SSH, a second TLS library): 5 MB of memory that
 * a host which calls nobody need not hold.  Include this instead of curl/curl.h: the functions have
 * their usual names and are reached through a table, so that libcurl may not be linked at all; a
 * use without a row here does not link.
 */
#ifndef WOPR_EGRESS_CURL_LATE_H
#define WOPR_EGRESS_CURL_LATE_H

#include "base/error.h"

#include <curl/curl.h>

#undef curl_easy_getinfo /* the macros of curl.h, which name the functions */
#undef curl_easy_setopt

/* Every function of libcurl that egress calls. */
#define CURL_LATE_ROWS(ROW)                                                                        \
    ROW(easy_cleanup)                                                                              \
    ROW(easy_getinfo)                                                                              \
    ROW(easy_header)                                                                               \
    ROW(easy_init)                                                                                 \
    ROW(easy_pause)                                                                                \
    ROW(easy_perform)                                                                              \
    ROW(easy_setopt)                                                                               \
    ROW(easy_strerror)                                                                             \
    ROW(free)                                                                                      \
    ROW(global_init)                                                                               \
    ROW(multi_add_handle)                                                                          \
    ROW(multi_cleanup)                                                                             \
    ROW(multi_info_read)                                                                           \
    ROW(multi_init)                                                                                \
    ROW(multi_perform)                                                                             \
    ROW(multi_poll)                                                                                \
    ROW(multi_remove_handle)                                                                       \
    ROW(multi_wakeup)                                                                              \
    ROW(slist_append)                                                                              \
    ROW(slist_free_all)                                                                            \
    ROW(url)                                                                                       \
    ROW(url_cleanup)                                                                               \
    ROW(url_get)                                                                                   \
    ROW(url_set)

struct curl_late {
#define ROW(name) __typeof__(curl_##name) *name;
    CURL_LATE_ROWS(ROW)
#undef ROW
};
extern struct curl_late CURL_LATE; /* complete once curl_late() has answered 0 */

/* Load libcurl and initialise it, the first time; from any thread, and before any other function
 * of the table.  It is never unloaded.  UNAVAILABLE with the loader's reason; the next call tries
 * again. */
MUST_CHECK int curl_late(struct wopr_error *err);

#define curl_easy_cleanup        CURL_LATE.easy_cleanup
#define curl_easy_getinfo        CURL_LATE.easy_getinfo
#define curl_easy_header         CURL_LATE.easy_header
#define curl_easy_init           CURL_LATE.easy_init
#define curl_easy_pause          CURL_LATE.easy_pause
#define curl_easy_perform        CURL_LATE.easy_perform
#define curl_easy_setopt         CURL_LATE.easy_setopt
#define curl_easy_strerror       CURL_LATE.easy_strerror
#define curl_free                CURL_LATE.free
#define curl_global_init         CURL_LATE.global_init
#define curl_multi_add_handle    CURL_LATE.multi_add_handle
#define curl_multi_cleanup       CURL_LATE.multi_cleanup
#define curl_multi_info_read     CURL_LATE.multi_info_read
#define curl_multi_init          CURL_LATE.multi_init
#define curl_multi_perform       CURL_LATE.multi_perform
#define curl_multi_poll          CURL_LATE.multi_poll
#define curl_multi_remove_handle CURL_LATE.multi_remove_handle
#define curl_multi_wakeup        CURL_LATE.multi_wakeup
#define curl_slist_append        CURL_LATE.slist_append
#define curl_slist_free_all      CURL_LATE.slist_free_all
#define curl_url                 CURL_LATE.url
#define curl_url_cleanup         CURL_LATE.url_cleanup
#define curl_url_get             CURL_LATE.url_get
#define curl_url_set             CURL_LATE.url_set

#endif
