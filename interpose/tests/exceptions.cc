// Functions that exceptions leave, at several depths. Compiled with -finstrument-functions.
#include <stdexcept>

#define OWN __attribute__((noinline))

namespace shop {
static OWN int hash(int n) { return n * 31; }

struct Basket {
    int sum = 0;
    OWN ~Basket() { sum = hash(sum); }
};

// The exception leaves small frames, and the next call has a large one.
OWN void wide(int n) {
    volatile char room[4096];
    room[n] = 1;
    hash(room[n]);
}

OWN void fall(int n) {
    Basket basket;
    if (n == 0)
        throw std::runtime_error("at the bottom");
    fall(n - 1);
}

OWN void land(int n) {
    try {
        fall(n);
    } catch (const std::exception &) {
        wide(n);
    }
    wide(n);
}

// The exception goes on, and is caught further out.
OWN void pass(int n) {
    try {
        fall(n);
    } catch (...) {
        wide(n);
        throw;
    }
}
}

int main() {
    int caught = 0;
    for (int i = 0; i < 10; i++) {
        shop::land(i);
        try {
            shop::pass(i);
        } catch (const std::runtime_error &) {
            caught++;
        }
        shop::wide(i);
    }
    return caught != 10;
}
