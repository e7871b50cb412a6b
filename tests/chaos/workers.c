/*
 * workers.c: worker processes: starts them, kills and freezes them at random, starts those anew
 * that have died (WRK-10 to WRK-23).  Three are worker/worker.c, one is the Python client's worker.
 */
#include "world.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    TICK_MS = 20,
    HARM_MS_MAX = 900,
    FROZEN_MS_MAX = 3500,
    DOWN_MS_MAX = 300,
    GIVE_UP_MS = 90000
};

static struct proc {
    pid_t pid; /* 0 = down */
    bool frozen;
    bool harms, told; /* it harms itself; it was told to end */
    int64_t until_ms;
    unsigned lives;
} procs[WORKERS];
static struct {
    unsigned kills, deaths, freezes;
    int odd; /* a wait status that should not be */
} harm;
static pthread_t keeper;
static atomic_bool over, calm;
static uint64_t seed, rng;

const char *worker_journal(unsigned no, char out[320]) {
    snprintf(out, 320, "%s/worker-%u.journal", slots[0].sv.dir, no);
    return out;
}

static void proc_exec(const char *const *argv) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int fd = 3; fd < 1024; fd++) close(fd);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

static void proc_start(unsigned no) {
    struct proc *p = &procs[no];
    char journal[320], number[16], life[24];
    bool python = no == WORKER_PYTHON;
    snprintf(number, sizeof number, "%u", no);
    snprintf(life, sizeof life, "%llu",
             (unsigned long long)(seed + 31 + no * 977 + p->lives++ * 7919));
    bool harms = !atomic_load(&calm);
    const char *const own[] = {WOPR_CHAOS_WORKER,
                               hosts_ports_path(),
                               worker_journal(no, journal),
                               number,
                               life,
                               harms ? "1" : "0",
                               NULL};
    const char *const client[] = {WOPR_PYTHON,
                                  "-B",
                                  WOPR_SOURCE_DIR "/tests/chaos/worker/worker.py",
                                  WOPR_SOURCE_DIR "/clients/python",
                                  hosts_ports_path(),
                                  journal,
                                  number,
                                  life,
                                  harms ? "1" : "0",
                                  NULL};
    pid_t pid = fork();
    if (pid == 0) proc_exec(python ? client : own);
    p->pid = pid > 0 ? pid : 0;
    p->frozen = false;
    p->harms = harms;
    p->told = false;
}

/* It died: by us, by itself, or as it should not. */
static void proc_ended(struct proc *p, int status) {
    p->pid = 0;
    p->until_ms = now_ms() + (int64_t)client_chance(&rng, DOWN_MS_MAX);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    bool asked = p->told && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    asked =
        asked || (p->told && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM); /* too young */
    if (!killed && !asked && harm.odd == 0) harm.odd = status;
    harm.deaths += killed;
}

static void proc_look(struct proc *p, unsigned no) {
    int status;
    if (p->pid != 0 && waitpid(p->pid, &status, WNOHANG) == p->pid) proc_ended(p, status);
    if (p->pid != 0 && p->frozen && now_ms() >= p->until_ms) {
        kill(p->pid, SIGCONT);
        p->frozen = false;
    }
    if (p->pid != 0 && !p->frozen && atomic_load(&calm) && p->harms && !p->told) {
        kill(p->pid, SIGTERM); /* the next one does not harm itself */
        p->told = true;
    }
    if (p->pid == 0 && now_ms() >= p->until_ms) proc_start(no);
}

static void proc_harm(struct proc *p) {
    if (p->pid == 0 || p->frozen) return;
    if (client_chance(&rng, 2) == 0) {
        kill(p->pid, SIGKILL);
        harm.kills++;
        return;
    }
    kill(p->pid, SIGSTOP);
    p->frozen = true;
    p->until_ms = now_ms() + 50 + (int64_t)client_chance(&rng, FROZEN_MS_MAX);
    harm.freezes++;
}

static void proc_stop(struct proc *p) {
    int status = 0;
    pid_t got = 0;
    if (p->pid == 0) return;
    kill(p->pid, SIGCONT);
    kill(p->pid, SIGTERM);
    p->told = true;
    for (int64_t end = now_ms() + GIVE_UP_MS; got == 0 && now_ms() < end; nap_ms(TICK_MS))
        got = waitpid(p->pid, &status, WNOHANG);
    if (got != p->pid) { /* it hangs */
        harm.odd = harm.odd == 0 ? -1 : harm.odd;
        kill(p->pid, SIGKILL);
        waitpid(p->pid, NULL, 0);
    } else {
        proc_ended(p, status);
    }
}

/* Their parent: they die with it. */
static void *keeper_main(void *arg) {
    (void)arg;
    for (int64_t next = now_ms(); !atomic_load(&over); nap_ms(TICK_MS)) {
        for (unsigned i = 0; i < WORKERS; i++) proc_look(&procs[i], i);
        if (atomic_load(&calm) || now_ms() < next) continue;
        proc_harm(&procs[client_chance(&rng, WORKERS)]);
        next = now_ms() + 20 + (int64_t)client_chance(&rng, HARM_MS_MAX);
    }
    for (unsigned i = 0; i < WORKERS; i++) proc_stop(&procs[i]);
    return NULL;
}

void workers_start(uint64_t of) {
    seed = of;
    rng = (seed + 4711) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    cr_assert_eq(pthread_create(&keeper, NULL, keeper_main, NULL), 0);
}

/* From now on nobody harms them, and those that start do not harm themselves. */
void workers_calm(void) { atomic_store(&calm, true); }

void workers_stop(void) {
    atomic_store(&over, true);
    pthread_join(keeper, NULL);
    cr_assert_eq(harm.odd, 0, "a worker ended with wait status %d", harm.odd);
    fprintf(stderr, "chaos: workers: %u kills by us, %u by themselves, %u freezes\n", harm.kills,
            harm.deaths > harm.kills ? harm.deaths - harm.kills : 0, harm.freezes);
}
