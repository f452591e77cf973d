// Exceptions, virtual calls, the containers of the library.
#include <cstdio>
#include <stdexcept>
#include <vector>
struct One { virtual int of(int) { return 1; } virtual ~One() {} };
struct Two : One { int of(int x) override { return x > 2 ? x : 0; } };
__attribute__((noinline)) int check(int x) { if (x > 3) throw std::runtime_error("big"); return x; }
int main() {
    int sum = 0;
    std::vector<One *> all { new One, new Two, new One };
    for (int i = 0; i < 6; i++) {
        try { sum += check(i); } catch (std::exception &) { sum += 100; }
        for (auto one : all) sum += one->of(i);
    }
    std::printf("%d\n", sum);
}
