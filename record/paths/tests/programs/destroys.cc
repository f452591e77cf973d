// Objects that the library destroys after `main`. The last destructor prints the counts.
#include <cstdio>
static int calls;
struct on_end {
    bool is_last;
    __attribute__((noinline)) ~on_end() {
        calls++;
        if (is_last) std::printf("_ZN6on_endD1Ev %d\n", calls);
    }
};
struct on_other { __attribute__((noinline)) ~on_other() { std::printf("_ZN8on_otherD1Ev 1\n"); } };
static on_end last { true }, first { false };
static on_other other;
int main(int count, char **) { return count > 7; }
