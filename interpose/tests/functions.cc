// Functions of C++ that exceptions leave, and two of one name. Compiled with -finstrument-functions.
#include <stdexcept>
#include <string>

namespace shop {
namespace {
__attribute__((noinline)) int hash(int n) { return n * 31; }
}

struct Basket {
    int sum = 0;
    __attribute__((noinline)) ~Basket() { sum = hash(sum); }
    __attribute__((noinline)) void put(int n) {
        if (n % 3 == 0)
            throw std::runtime_error(std::to_string(n));
        sum += hash(n);
    }
};

template <typename T> __attribute__((noinline)) int fill(T basket, int n) {
    basket.put(n);
    return basket.sum;
}
}

int main() {
    int caught = 0;
    for (int i = 0; i < 30; i++) {
        try {
            shop::fill(shop::Basket(), i);
        } catch (const std::exception &) {
            caught++;
        }
    }
    return caught != 10;
}
