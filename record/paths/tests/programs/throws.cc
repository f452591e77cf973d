// Exceptions that a library throws by itself: it has no letter, and its handlers are here.
#include <cstdio>
#include <locale>
#include <new>
struct Said { const char *word; ~Said() { std::puts(word); } };
alignas(std::locale) static char room[sizeof(std::locale)];
// It handles nothing, and has nothing to tidy.
extern "C" __attribute__((noinline)) int bare(const char *word) {
    new (room) std::locale(word);
    return 1;
}
__attribute__((noinline)) static int tidied(const char *word) {
    Said said { "left" };
    return bare(word) + 1;
}
int main(int count, char **words) {
    int sum = 0;
    for (int i = 1; i < count; i++) {
        try { sum += tidied(words[i]); } catch (const std::exception &) { sum -= 100; }
        try { sum += bare(words[i]); } catch (...) { sum--; }
    }
    std::printf("%d\n", sum);
    return sum < 0;
}
