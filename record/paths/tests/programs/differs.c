// A path that depends on the number of its process.
#include <unistd.h>
int main(void) {
    int sum = 0;
    for (int bits = getpid(); bits; bits >>= 1) sum += bits & 1 ? 3 : 5;
    return sum & 1;
}
