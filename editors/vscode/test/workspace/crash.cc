#include <cstdio>

struct Node {
  int value;
  Node* next;
};

int sum(const Node* list) {
  int all = list->value;
  return list->next->value + all;
}

int main() {
  Node last{7, nullptr};
  std::printf("%d\n", sum(&last));
}
