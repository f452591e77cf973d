// A program whose stacks are many: each of 2,047 ways down allocates for maps and strings.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

struct Node {
    std::map<int, std::string> texts;
    std::unique_ptr<Node> last;
};

static unsigned state = 1;
static unsigned next(unsigned below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

template <int depth> struct Way {
    static __attribute__((noinline)) void go(Node &node)
    {
        node.texts[next(64)] = std::string(20 + next(60), 'x');
        auto child = std::make_unique<Node>();
        child->texts[1] = "a text that is longer than what a string has room for";
        Way<depth - 1>::go(*child);
        Way<depth - 1>::go(*child);
        node.last = std::move(child);
        node.last->last.reset();
    }
};
template <> struct Way<0> {
    static __attribute__((noinline)) void go(Node &node)
    {
        node.texts[next(64)] = std::string(20 + next(200), 'y');
    }
};

int main(int, char **words)
{
    Node root;
    for (int round = atoi(words[1]); round > 0; round--)
        Way<10>::go(root);
}
