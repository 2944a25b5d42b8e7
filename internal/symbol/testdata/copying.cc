// Classes that are or are not trivial for the purposes of calls. y_: through a hidden pointer, n_: by value.
struct A { int a; ~A() {} };
struct B { int b; ~B() = default; B(const B &) = default; B() = default; };
struct C { A a; };
struct D { int d; virtual int f() { return 1; } };
struct E { E(const E &); int e; E(); };
E::E(const E &) {}
E::E() {}
struct F { int x; F(F &&) = default; F() = default; };
struct G { int x; G(const G &) = delete; G() = default; G(G &&) = default; };
struct H : virtual F { int q; };
struct I { ~I(); int i; };
I::~I() = default;
struct J { J(); J(int); int j; J &operator=(const J &) { return *this; } };
J::J() {}
template <typename T> struct K { T k; K(const K &o) : k(o.k) {} K() {} };
struct L { int l; L(const L &) = delete; L() = default; };
struct M { B b[3]; int m; };
struct N { int n; template <typename T> N(T t) : n(t) {} };
int y_A(A x) { return x.a; }
int n_B(B x) { return x.b; }
int y_C(C x) { return x.a.a; }
int y_D(D x) { return x.d; }
int y_E(E x) { return x.e; }
int n_F(F x) { return x.x; }
int n_G(G x) { return x.x; }
int y_I(I x) { return x.i; }
int n_J(J x) { return x.j; }
int y_K(K<int> x) { return x.k; }
int y_L(L x) { return x.l; }
int n_M(M x) { return x.m; }
int n_N(N x) { return x.n; }
int main() { D d; K<int> k; return n_N(N(3)) + y_D(d) + y_K(k); }
