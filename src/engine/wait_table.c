/*
 * wait_table.c: the kinds of waits.  Hooks are called in the order of the rows; children come last,
 * because loading them may send commands to this run.
 */
#include "engine/children.h"
#include "engine/invoke.h"
#include "engine/program.h"
#include "engine/suspend.h"
#include "engine/task_wait.h"
#include "engine/wait_timer.h"
#include "engine/waits.h"

const struct wait_kind *const WAIT_KINDS[] = {
    &WAIT_TIMER, &WAIT_REQUEST, &WAIT_ANSWER, &WAIT_TASK, &WAIT_PROGRAM, &WAIT_CHILD, NULL,
};
