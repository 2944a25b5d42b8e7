#include <stdio.h>
#include <stdlib.h>
// A ledger of amounts by account; a refund takes back a part of what was paid.
static long paid[8];
int account_of(int n) { return (n * 5 + 3) % 8; }
long fee(long amount) { return amount / 50; }
long refund(long amount, int days) { return days > 30 ? 0 : amount - fee(amount); }
void book(int account, long amount) { paid[account] += amount; }
long balance(int account) { return paid[account]; }
int main(int argc, char **argv) {
  FILE *in = fopen(argv[1], "r");
  long amount;
  int days, n = 0;
  if (argc < 2 || !in) return 2;
  while (fscanf(in, "%ld %d", &amount, &days) == 2) {
    int account = account_of(n++);
    book(account, amount);
    book(account, -refund(amount, days));
  }
  for (int i = 0; i < 8; i++) printf("%ld\n", balance(i));
  return 0;
}
