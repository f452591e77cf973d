// Counts the ways to place queens on a board of six by six.
#include <stdio.h>

static int place(int row, unsigned columns, unsigned left, unsigned right) {
    int count = 0;
    if (row == 6) return 1;
    for (int column = 0; column < 6; column++) {
        unsigned bit = 1u << column;
        if ((columns | left | right) & bit) continue;
        count += place(row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return count;
}

int main(void) {
    printf("%d\n", place(0, 0, 0, 0));
    return 0;
}
