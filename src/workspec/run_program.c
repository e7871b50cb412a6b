/* run_program.c: documents as programs of the engine: the table of what they can do. */
#include "workspec/run_int.h"

void ws_compiled_free(void *compiled) { arena_free(((struct ws_program *)compiled)->a); }

static void run_needs(const struct workflow *wf, struct run_needs *out) {
    *out = ((const struct ws_program *)wf->compiled)->needs;
}

const struct program_ops WS_PROGRAM = {.name = WS_LANGUAGE,
                                       .compiled_free = ws_compiled_free,
                                       .options = run_options_good,
                                       .options_same = run_options_equal,
                                       .inputs = run_inputs_read,
                                       .open = run_open,
                                       .close = run_close,
                                       .bytes = run_bytes,
                                       .fold = run_fold,
                                       .save = run_save,
                                       .load = run_load,
                                       .remakes = run_remakes,
                                       .outputs = run_outputs,
                                       .next = run_next,
                                       .timed_out = run_timed_out,
                                       .late = run_late,
                                       .needs = run_needs,
                                       .opening = say_opening};
