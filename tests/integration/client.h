/*
 * client.h: one HTTP exchange with a host that may be dying.  No arena, no assertion: usable from
 * any thread, and no answer is an answer.
 */
#ifndef WOPR_TESTS_CLIENT_H
#define WOPR_TESTS_CLIENT_H

#include <stddef.h>
#include <stdint.h>

/* Status of a whole answer, its body at *body inside answer; 0 when none came within wait_ms:
 * nothing is acknowledged.  method "GET" sends no body; key: Idempotency-Key, may be NULL. */
long client_ask(int port, const char *method, const char *path, const char *key, const char *body,
                int wait_ms, char *answer, size_t size, char **out);
/* xorshift64*; 0 <= result < n */
uint64_t client_chance(uint64_t *rng, uint64_t n);
/* A number from the environment. */
uint64_t client_number(const char *env, uint64_t otherwise);

#endif
