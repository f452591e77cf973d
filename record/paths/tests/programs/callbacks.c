// Functions that only code outside calls. Each counts its calls, and the last one prints them.
#define _GNU_SOURCE
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int of_compare, of_find, of_handle, of_write_all, of_visit, of_bye, of_setup, of_resolve;
static int on_compare(const void *a, const void *b) { of_compare++; return *(int *)a - *(int *)b; }
static int on_find(const void *a, const void *b) { of_find++; return *(int *)a - *(int *)b; }
static void on_handle(int s, siginfo_t *i, void *c) { of_handle += s == SIGUSR1; }
static void on_bye(void) { of_bye++; }
static void on_visit(const void *node, VISIT which, int depth) { of_visit++; }
static ssize_t on_write_all(void *to, const char *bytes, size_t size) { of_write_all++; return size; }
// A table of functions that no code names: relocated, then read-only.
static const cookie_io_functions_t stream = { .write = on_write_all };
// Compilers write `bsearch` into its caller.
void *(*volatile search)(const void *, const void *, size_t, size_t, __compar_fn_t) = bsearch;
static int on_plus(int x) { return x + 1; }
static void *on_resolve(void) { of_resolve++; return on_plus; }
int next(int) __attribute__((ifunc("on_resolve")));
__attribute__((constructor)) static void on_setup(void) { of_setup++; }
__attribute__((destructor)) static void on_say(void) {
    printf("on_compare %d\non_find %d\non_handle %d\non_write_all %d\non_visit %d\n"
           "on_bye %d\non_setup %d\non_resolve %d\non_say 1\n",
           of_compare, of_find, of_handle, of_write_all, of_visit, of_bye, of_setup, of_resolve);
}
int main(int count, char **words) {
    int all[20];
    for (int i = 0; i < 20; i++) all[i] = i * 7919 % 23;
    struct sigaction action = { .sa_sigaction = on_handle, .sa_flags = SA_SIGINFO };
    sigaction(SIGUSR1, &action, 0);
    atexit(on_bye);
    qsort(all, 20, sizeof *all, on_compare);
#ifndef DIRECT
    search(all + 7, all, 20, sizeof *all, on_find);
#endif
    raise(SIGUSR1);
    raise(SIGUSR1);
    void *root = 0;
    for (int i = 0; i < 5; i++) tsearch(all + i, &root, on_compare);
    twalk(root, on_visit);
    FILE *out = fopencookie(0, "w", stream);
    fputs("text", out);
    fclose(out);
#ifdef DIRECT
    // No call of the program goes through a pointer.
    if (count > 1) exit(3);
    return 0;
#else
    if (count > 1) exit(next(3));
    return next(0);
#endif
}
