// Threads that have several names, one after the other, and print how long each waited under which
// name, and for whom under which name.
//
//   cc -O1 -pthread -o names names.c && eventcnv waits record -o all.log -- ./names >names.txt
//
// A line of the output: name of the thread that waited, name of the thread that woke it, ms.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static double rate; // ticks in a ms: a spin makes no system call
static int ask[2], answer[2];

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
static void wait_for(const char *own, const char *other) {
  put(ask[1]);
  double begin = now();
  get(answer[0]);
  printf("%s %s %.3f\n", own, other, now() - begin);
  fflush(stdout);
}
static void *helper(void *none) {
  name("first");
  get(ask[0]);
  compute(20);
  put(answer[1]);
  get(ask[0]);
  name("second"); // in the run that ends the wait
  compute(40);
  put(answer[1]);
  name("third");
  get(ask[0]);
  return none;
}
int main(void) {
  unsigned long long ticks = __rdtsc();
  double begin = now();
  while (now() < begin + 20);
  rate = (__rdtsc() - ticks) / (now() - begin);
  if (pipe(ask) || pipe(answer)) return 1;
  name("asker");
  pthread_t thread;
  pthread_create(&thread, 0, helper, 0);
  usleep(5000);
  wait_for("asker", "first");
  name("later");
  wait_for("later", "second");
  put(ask[1]);
  pthread_join(thread, 0);
  if (fork() == 0) {
    name("server");
    get(ask[0]);
    compute(30);
    put(answer[1]);
    execl("/bin/true", "true", (char *)0);
  }
  wait_for("later", "server");
  wait(0);
  execl("/bin/true", "true", (char *)0);
}
