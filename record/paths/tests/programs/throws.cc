// Exceptions that the library throws: its code has no letter, its handlers are here.
#include <cstdio>
#include <string>
#include <vector>
struct Said { const char *word; ~Said() { std::puts(word); } };
__attribute__((noinline)) static int number(const std::string &word) {
    Said said { "left" };
    return std::stoi(word);
}
__attribute__((noinline)) static int at(const std::vector<int> &all, int place) {
    try { return all.at(place % 20); } catch (...) { return -1; }
}
int main(int count, char **words) {
    int sum = 0;
    std::vector<int> all(18, 3);
    for (int i = 1; i < count; i++) {
        try { sum += at(all, number(words[i])); } catch (const std::exception &) { sum -= 100; }
    }
    std::printf("%d\n", sum);
    return sum < 0;
}
