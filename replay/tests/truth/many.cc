#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct Of { std::map<std::string, std::vector<int>> all; int f() { for (auto &p : all) std::sort(p.second.begin(), p.second.end(), [](int a, int b) { return a % (N + 1) < b % (N + 1); }); return Of<N - 1>().f() + N; } };
template <> struct Of<0> { int f() { return 0; } };
int main(int n, char **w) { std::unordered_map<std::string, std::function<int(int)>> m; m["x"] = [](int a) { return a + 1; }; return m["x"](n) + Of<8>().f() + (w[0] == std::string("x")); }
