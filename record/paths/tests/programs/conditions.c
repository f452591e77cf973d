// Each condition of a jump, after comparisons of all kinds. The jump leads to where both ways meet.
#define ONE(cc) \
    __asm__ goto("cmp %1, %0\n\tj" #cc " %l2" : : "r"(a), "r"(b) : "cc" : skip_##cc); \
    sum = sum * 3 + 1; \
    skip_##cc:
static volatile int all[] = { 0, 1, -1, 5, 127, -128, 0x7fffffff, -0x7fffffff - 1 };
int main(void) {
    unsigned sum = 0;
    for (int i = 0; i < 64; i++) {
        int a = all[i / 8], b = all[i % 8];
        ONE(o) ONE(no) ONE(b) ONE(ae) ONE(e) ONE(ne) ONE(be) ONE(a)
        ONE(s) ONE(ns) ONE(p) ONE(np) ONE(l) ONE(ge) ONE(le) ONE(g)
    }
    return sum % 7;
}
