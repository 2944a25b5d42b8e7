int main(void) { return 3; } // @main
