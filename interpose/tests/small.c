// Allocates where the stack is small, and prints how much of that stack was used.
//
// small thread SIZE      in three threads with such stacks
// small coroutine SIZE   in a coroutine (makecontext)
// small handler SIZE     in a signal handler, with that much besides the kernel's frame
// small room             as many blocks of 1 MiB as it gets
// small addresses        once, and prints the size of its address space
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, ROUNDS = 300, PAINT = 0xA5 };

static void *volatile blocks[16];
static ucontext_t back, here;
// Where the code begins to use the stack: the kernel has used some of a handler's.
static unsigned char *begin;

// Fills several blocks of the log, so that they are written.
static void work(void) {
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < 16; i++) blocks[i] = malloc(100 + i);
    blocks[0] = realloc(blocks[0], 20000);
    for (int i = 0; i < 16; i++) free(blocks[i]);
  }
}

static void *thread(void *unused) {
  work();
  return unused;
}

static void coroutine(void) {
  begin = __builtin_frame_address(0);
  work();
  swapcontext(&here, &back);
}

static void handler(int signal) {
  (void)signal;
  begin = __builtin_frame_address(0);
  work();
}

static void check(int is_good, const char *what) {
  if (is_good) return;
  perror(what);
  exit(1);
}

// A stack of this size above a page that cannot be used.
static unsigned char *stack_of(size_t size) {
  size_t whole = (size + PAGE - 1) / PAGE * PAGE;
  unsigned char *memory = mmap(0, PAGE + whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  check(memory != MAP_FAILED, "mmap");
  check(mprotect(memory + PAGE, whole, PROT_READ | PROT_WRITE) == 0, "mprotect");
  memset(memory + PAGE, PAINT, whole);
  return memory + PAGE;
}

static void print_used(const unsigned char *stack) {
  const unsigned char *used = stack;
  while (used < begin && *used == PAINT) used++;
  printf("%td\n", begin - used);
}

int main(int count, char **words) {
  size_t size = count > 2 ? strtoul(words[2], 0, 10) : 0;
  if (strcmp(words[1], "thread") == 0) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    check(pthread_attr_setstacksize(&attributes, size) == 0, "size");
    for (int i = 0; i < 3; i++) {
      pthread_t started;
      check(pthread_create(&started, &attributes, thread, 0) == 0, "pthread_create");
      check(pthread_join(started, 0) == 0, "pthread_join");
    }
  } else if (strcmp(words[1], "room") == 0) {
    int blocks_of_1_mib = 0;
    while (malloc(1 << 20)) blocks_of_1_mib++;
    printf("%d\n", blocks_of_1_mib);
  } else if (strcmp(words[1], "addresses") == 0) {
    static char line[256];
    free(malloc(10));
    FILE *status = fopen("/proc/self/statm", "r");
    check(status && fgets(line, sizeof line, status), "statm");
    printf("%ld\n", strtol(line, 0, 10) * sysconf(_SC_PAGESIZE));
  } else {
    // The functions are looked up here: that takes a stack, too.
    work();
    if (strcmp(words[1], "coroutine") == 0) {
      unsigned char *stack = stack_of(size);
      getcontext(&here);
      here.uc_stack.ss_sp = stack;
      here.uc_stack.ss_size = size;
      makecontext(&here, coroutine, 0);
      swapcontext(&back, &here);
      print_used(stack);
    } else {
      size_t frame = getauxval(AT_MINSIGSTKSZ);
      size += frame ? frame : 2048;
      stack_t other = {.ss_sp = stack_of(size), .ss_size = size};
      struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
      check(sigaltstack(&other, 0) == 0, "sigaltstack");
      sigaction(SIGUSR1, &action, 0);
      raise(SIGUSR1);
      print_used(other.ss_sp);
    }
  }
  return 0;
}
