#include <map>
#include <string>
#include <vector>
#include <stdexcept>
#include <cstdio>
struct Item { int id; std::string name; std::map<std::string,int> attrs; Item(int i):id(i),name("item"+std::to_string(i)){attrs["a"]=i;} };
struct Shop { std::vector<Item> items; std::string title = std::string(300,'t'); int sold = 0;
  int price(int id, bool gift) { if (id == 7) throw std::runtime_error("no price for 7"); return id*10 + gift; }
  int sell(int id, bool gift) { sold++; return price(id, gift); }
  void fill(int n) { for (int i=0;i<n;i++) items.push_back(Item(i)); } };
int main() { Shop s; s.fill(12); int sum=0;
  for (int i=0;i<40;i++) try { sum += s.sell(i%20, i%3==0); } catch (std::exception &e) { printf("error: %s\n", e.what()); }
  printf("sum %d\n", sum); }
