/* The Tcl package tools, for tests: fork, wait PID, kill PID, thread SCRIPT, busy.
 *
 * Tcl has none of these by itself, and the packages that have them are not installed everywhere.
 * `busy` gives the processor time of this thread in ns. It finds Tcl's functions in the stub table.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct { char *result; void *free; int line; void **stubs; } Interp;
typedef int Command(void *data, Interp *interp, int count, void *const words[]);

static void **stubs;
#define TCL(number, result, ...) ((result (*)(__VA_ARGS__))stubs[2 + (number)])

static const char *word(void *object) { return TCL(340, const char *, void *)(object); }

static int answer(Interp *interp, long long number) {
  char text[32];
  snprintf(text, sizeof text, "%lld", number);
  TCL(235, void, Interp *, void *)(interp, TCL(56, void *, const char *, long)(text, -1));
  return 0;
}

static int do_fork(void *data, Interp *interp, int count, void *const words[]) {
  return answer(interp, fork());
}

static int do_wait(void *data, Interp *interp, int count, void *const words[]) {
  int status = -1;
  waitpid(atoi(word(words[1])), &status, 0);
  return answer(interp, status);
}

static int do_kill(void *data, Interp *interp, int count, void *const words[]) {
  return answer(interp, kill(atoi(word(words[1])), SIGKILL));
}

static int do_busy(void *data, Interp *interp, int count, void *const words[]) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return answer(interp, time.tv_sec * 1000000000LL + time.tv_nsec);
}

static void *run(void *script) {
  Interp *interp = TCL(94, Interp *, void)();
  TCL(180, int, Interp *)(interp);
  if (TCL(291, int, Interp *, const char *, long, int)(interp, script, -1, 0) != 0) {
    fprintf(stderr, "thread: %s\n", word(TCL(166, void *, Interp *)(interp)));
    abort();
  }
  TCL(110, void, Interp *)(interp);
  TCL(294, void, int)(0);
  return NULL;
}

/* Runs scripts, each in a thread with an interpreter of its own, until all have ended. */
static int do_threads(void *data, Interp *interp, int count, void *const words[]) {
  pthread_t threads[16];
  for (int i = 1; i < count && i <= 16; i++)
    pthread_create(&threads[i - 1], NULL, run, (void *)word(words[i]));
  for (int i = 1; i < count && i <= 16; i++) pthread_join(threads[i - 1], NULL);
  return 0;
}

int Tools_Init(Interp *interp) {
  static const struct { const char *name; Command *run; } commands[] = {
    {"fork", do_fork}, {"wait", do_wait}, {"kill", do_kill}, {"busy", do_busy},
    {"threads", do_threads},
  };
  stubs = interp->stubs;
  for (int i = 0; i < 5; i++)
    TCL(96, void *, Interp *, const char *, Command *, void *, void *)(
        interp, commands[i].name, commands[i].run, NULL, NULL);
  return 0;
}
