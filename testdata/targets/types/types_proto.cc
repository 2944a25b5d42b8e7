// Repeated fields of protobuf, which need no generated code.
#include "show.h"

#include <google/protobuf/repeated_field.h>

using std::string;
using google::protobuf::RepeatedField;
using google::protobuf::RepeatedPtrField;

template <class T> struct Show<RepeatedField<T>> {
  static string of(const RepeatedField<T>& v) { return show_range(v.begin(), v.size()); }
};
template <class T> struct Show<RepeatedPtrField<T>> {
  static string of(const RepeatedPtrField<T>& v) { return show_range(v.begin(), v.size()); }
};
template <class C> C numbers(int n) {
  C c;
  for (int i = 0; i < n; i++) c.Add(i * 7 - 3);
  return c;
}
RepeatedPtrField<string> texts(int n) {
  RepeatedPtrField<string> c;
  for (int i = 0; i < n; i++) *c.Add() = "text " + std::to_string(i);
  return c;
}

CASE(ints, numbers<T_ints>(5), RepeatedField<int32_t>)
CASE(doubles, numbers<T_doubles>(3), RepeatedField<double>)
CASE(none, {}, RepeatedField<int32_t>)
CASE(strings, texts(4), RepeatedPtrField<string>)
CASE(strings_none, {}, RepeatedPtrField<string>)

int main(int argc, char** argv) {
  begin(argc, argv);
  RUN(ints) RUN(doubles) RUN(none) RUN(strings) RUN(strings_none)
  return end();
}
