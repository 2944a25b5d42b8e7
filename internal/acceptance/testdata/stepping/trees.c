#include <stdio.h>
#include <stdlib.h>
struct node {
  int key;
  struct node *left, *right;
};
struct item {
  char name[8];
  struct item *next;
};
static struct node *insert(struct node *n, int key) {
  if (!n) {
    n = calloc(1, sizeof *n);
    n->key = key;
  } else if (key < n->key) {
    n->left = insert(n->left, key);
  } else {
    n->right = insert(n->right, key);
  }
  return n;
}
static int sum(const struct node *n) {
  return n ? n->key + sum(n->left) + sum(n->right) : 0;
}
static void drop(struct node *n) {
  if (!n) return;
  drop(n->left);
  drop(n->right);
  free(n);
}
static struct item *reverse(struct item *head) {
  struct item *done = NULL;
  while (head) {
    struct item *next = head->next;
    head->next = done;
    done = head;
    head = next;
  }
  return done;
}
int main(void) {
  struct node *root = NULL;
  static const int keys[] = {5, 2, 8};
  for (int i = 0; i < 3; i++)
    root = insert(root, keys[i]);
  int s = sum(root);
  drop(root);
  root = NULL;
  struct item c = {"c", NULL}, b = {"b", &c}, a = {"a", &b};
  struct item *head = reverse(&a);
  printf("%d %s\n", s, head->name);
  return 0;
}

// What is on the stack below main is 0 for whoever looks: else it differs from run to run what lies in a variable that
// is not set yet.
__attribute__((constructor)) static void clear_stack(void) {
  volatile char below[65536];
  for (unsigned i = 0; i < sizeof below; i++) below[i] = 0;
}
