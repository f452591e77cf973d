// Threads that wait for each other in the ways that a systemic profiler tells apart, and print how
// long each waited.
//
//   cc -O1 -pthread -o paths paths.c
//   eventcnv waits record --samples 1000 -o all.log -- chrt --fifo 1 ./paths >paths.txt
//
//   fit       a helper works for the one that asks, within its wait
//   other     a helper had begun to work 10 ms before it was waited for
//   poll      the one that asks waits in tries of 2 ms
//   triangle  a wakes c, and asks b; b waits for c, which had waited for a before
//
// A line of the output: scene, thread that waited, ms that it waited, ms of work that it waited for.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static double rate; // ticks in a ms: a spin makes no system call
static int ask[2], answer[2], chain[2], late[2];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}
static void compute(double ms) {
  unsigned long long end = __rdtsc() + ms * rate;
  while (__rdtsc() < end);
}
static void name(const char *of) { prctl(PR_SET_NAME, of); }
static void get(int from) { char byte; if (read(from, &byte, 1) != 1) exit(1); }
static void put(int to) { if (write(to, "x", 1) != 1) exit(1); }
static void tell(const char *scene, const char *who, double waited, double work) {
  printf("%s %s %.3f %.3f\n", scene, who, waited, work);
  fflush(stdout);
}
static void *fit(void *none) {
  name("fit-helper");
  get(ask[0]);
  compute(20);
  put(answer[1]);
  get(ask[0]); // its run ends with its work
  return none;
}
static void *other(void *none) {
  name("other-helper");
  usleep(2000);
  compute(30);
  put(answer[1]);
  return none;
}
static void *tried(void *none) {
  name("poll-helper");
  get(ask[0]);
  compute(20);
  put(answer[1]);
  get(ask[0]);
  return none;
}
static void *tri_b(void *none) {
  name("tri-b");
  get(ask[0]);
  get(late[0]);
  compute(10);
  put(answer[1]);
  get(late[0]);
  return none;
}
static void *tri_c(void *none) {
  name("tri-c");
  get(chain[0]);
  compute(20);
  put(late[1]);
  get(chain[0]);
  return none;
}
static void begin(void *(*body)(void *), pthread_t *thread) {
  pthread_create(thread, 0, body, 0);
}
int main(void) {
  unsigned long long ticks = __rdtsc();
  double start = now();
  while (now() < start + 20);
  rate = (__rdtsc() - ticks) / (now() - start);
  if (pipe(ask) || pipe(answer) || pipe(chain) || pipe(late)) return 1;
  pthread_t one, two;
  double from;

  name("fit-asker");
  begin(fit, &one);
  usleep(3000);
  put(ask[1]);
  from = now();
  get(answer[0]);
  tell("fit", "fit-asker", now() - from, 20);
  put(ask[1]);
  pthread_join(one, 0);

  name("other-asker");
  begin(other, &one);
  usleep(12000);
  from = now();
  get(answer[0]);
  tell("other", "other-asker", now() - from, 20);
  pthread_join(one, 0);

  name("poll-asker");
  begin(tried, &one);
  usleep(3000);
  put(ask[1]);
  from = now();
  struct pollfd end = {answer[0], POLLIN, 0};
  while (poll(&end, 1, 2) == 0);
  tell("poll", "poll-asker", now() - from, 20);
  get(answer[0]);
  put(ask[1]);
  pthread_join(one, 0);

  name("tri-a");
  begin(tri_b, &one);
  begin(tri_c, &two);
  usleep(3000);
  compute(5);
  put(ask[1]);
  put(chain[1]);
  from = now();
  get(answer[0]);
  tell("triangle", "tri-a", now() - from, 30);
  put(late[1]);
  put(chain[1]);
  pthread_join(one, 0);
  pthread_join(two, 0);
}
