// Calls functions in every way that a compiler's hooks see, or do not see. The first argument
// selects. Compiled with -finstrument-functions.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN __attribute__((noinline))

static volatile int sink;
static sigjmp_buf place;

static OWN void leaf(void) { sink++; }
static int part(int n) { return n + sink; }
static OWN int whole(int n) { return part(n) * 2; }
static OWN int deep(int n) { return n ? deep(n - 1) + 1 : 0; }
static OWN int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__attribute__((constructor)) static void early(void) { leaf(); }
__attribute__((destructor)) static void late(void) { leaf(); }

// Jumps from all depths, from one place and from several.
static OWN void fall(int n) {
    if (n == 0)
        siglongjmp(place, 1);
    fall(n - 1);
    sink++;
}
static OWN void thrower(int n) { longjmp(place, n + 1); }
static OWN void wide(void) {
    volatile char room[4096];
    room[sink & 4095] = 1;
    sink += room[0];
    leaf();
}
static OWN void jump(void) {
    for (volatile int i = 0; i < 100; i++) {
        if (sigsetjmp(place, 1) == 0)
            fall(i % 7);
        if (setjmp(place) == 0)
            thrower(i);
        wide();
    }
}

// Jumps that the C library does not see.
static void *buffer[5];
static OWN void leaver(void) { __builtin_longjmp(buffer, 1); }
static OWN void builtin(void) {
    for (volatile int i = 0; i < 10; i++) {
        if (__builtin_setjmp(buffer) == 0)
            leaver();
        wide();
    }
}

static OWN int compare(const void *a, const void *b) {
    leaf();
    return *(const int *)a - *(const int *)b;
}

static void *work(void *n) {
    for (int i = 0; i < 1000; i++)
        leaf();
    fibonacci((int)(long)n);
    return NULL;
}

static OWN void handler(int signal) { leaf(); }
static OWN void escape(int signal) { siglongjmp(place, 1); }

static void on_stack(void (*function)(int), size_t size) {
    struct sigaction action = {.sa_handler = function, .sa_flags = SA_ONSTACK};
    // Above the stack of a thread, and below that of the program.
    stack_t stack = {.ss_sp = malloc(size), .ss_size = size};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
}

static OWN void *signals(void *unused) {
    on_stack(handler, 1 << 16);
    for (int i = 0; i < 10; i++) {
        raise(SIGUSR1);
        leaf();
    }
    on_stack(escape, 1 << 16);
    for (volatile int i = 0; i < 10; i++) {
        if (sigsetjmp(place, 1) == 0)
            raise(SIGUSR1);
        leaf();
    }
    return NULL;
}

static OWN void plugins(char **path) {
    for (; *path; path++) {
        void *library = dlopen(*path, RTLD_NOW);
        if (library == NULL)
            exit(9);
        ((void (*)(void))dlsym(library, "plugin"))();
        dlclose(library);
    }
}

// Stays in its callers.
void stuck(int n) {
    if (n) {
        stuck(n - 1);
    } else {
        printf("%d\n", getpid());
        fflush(stdout);
        pause();
    }
    sink++;
}

int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : "";
    pthread_t threads[8];
    int numbers[] = {3, 1, 2, 5, 4};
    errno = 77;
    if (!strcmp(word, "plain")) {
        for (int i = 0; i < 10; i++)
            whole(i);
        fibonacci(12);
    } else if (!strcmp(word, "sort")) {
        qsort(numbers, 5, sizeof *numbers, compare);
    } else if (!strcmp(word, "jump")) {
        jump();
    } else if (!strcmp(word, "builtin")) {
        builtin();
        leaf();
    } else if (!strcmp(word, "deep")) {
        printf("%d\n", deep(atoi(words[2])));
    } else if (!strcmp(word, "threads")) {
        for (int round = 0; round < 20; round++) {
            for (long i = 0; i < 8; i++)
                pthread_create(&threads[i], NULL, work, (void *)i);
            for (int i = 0; i < 8; i++)
                pthread_join(threads[i], NULL);
        }
    } else if (!strcmp(word, "signals")) {
        signals(NULL);
        pthread_create(&threads[0], NULL, signals, NULL);
        pthread_join(threads[0], NULL);
    } else if (!strcmp(word, "plugins")) {
        plugins(words + 2);
    } else if (!strcmp(word, "fork")) {
        leaf();
        if (fork() == 0) {
            whole(1);
            exit(0);
        }
        wait(NULL);
        if (vfork() == 0)
            execl("/bin/true", "true", NULL);
        wait(NULL);
        leaf();
        execl(words[0], words[0], "quick", NULL);
    } else if (!strcmp(word, "quick")) {
        leaf();
        _exit(errno != 77);
    } else if (!strcmp(word, "stuck")) {
        stuck(3);
    }
    return errno != 77 && !strcmp(word, "plain");
}
