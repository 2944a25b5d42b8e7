#include "missing.h"
int main(void) { return 0; }
