/*
 * interrupt_int.h: schemas inside interrupts.  Layer: domain (pure), private to this folder.
 */
#ifndef WOPR_DOMAIN_INTERRUPT_INT_H
#define WOPR_DOMAIN_INTERRUPT_INT_H

#include "codec/schema.h"
#include "domain/interrupt.h"

/* Compile an author's schema (checked JSON text). *set owns *out; the caller frees *set with
 * schema_set_free, also after a failure.  VALIDATION, NO_MEMORY. */
MUST_CHECK int intr_schema_open(struct str schema, struct schema_set **set,
                                const struct schema **out, struct wopr_error *err);

#endif
