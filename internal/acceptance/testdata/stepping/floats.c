#include <complex.h>
#include <math.h>
#include <stdio.h>
static float mean(const float *v, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++)
    sum += v[i];
  return sum / (float)n;
}
static double root(double x) {
  double guess = x / 2;
  for (int i = 0; i < 3; i++)
    guess = (guess + x / guess) / 2;
  return guess;
}
static long double big(long double x) {
  long double y = x * 1e20L;
  return y + 1;
}
static double turn(double complex z) {
  double complex w = z * I;
  return creal(w) + cimag(w);
}
static int special(double x) {
  double none = x - x;
  double inf = x / none;
  double nan = none / none;
  return (inf > 1) + 2 * (nan != nan);
}
int main(void) {
  float v[3] = {1.5f, 2.5f, -1};
  float m = mean(v, 3);
  double r = root(2);
  long double b = big(3);
  double t = turn(1 + 2 * I);
  int s = special(2);
  long i = lrint(r * 10);
  printf("%g %g %Lg %g %d %ld\n", (double)m, r, b, t, s, i);
  return 0;
}
