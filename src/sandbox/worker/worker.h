/*
 * worker.h: the process in which modules of strangers are executed.  Layer: sandbox; for main.c,
 * which is the one that calls it: the library has no engine in it.
 *
 * "wopr wasm-worker" reads frames from standard input and answers each on standard output, until
 * there are none, or until it has become unfit to go on.  Before it reads the first one it gives up
 * what it could do harm with: no file, no socket, no process, no address space beyond what a module
 * may have (DESIGN.md).  Bytes it was given are the only thing of the host in it.
 */
#ifndef WOPR_SANDBOX_WORKER_H
#define WOPR_SANDBOX_WORKER_H

#define WORKER_COMMAND "wasm-worker"
/* memory_max: bytes of linear memory that any module may have.  Returns the exit status. */
int worker_main(int argc, char **argv);

#endif
