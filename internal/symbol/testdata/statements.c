int g;
static int twice(int n)
{
	int r = n;
	for (int i = 0; i < 2; i++)
		r += n;

	/* nothing */
	return r;
}
int main(int argc, char **argv)
{
	g = twice(argc);
	return g;
}
