static int many[10000];
static char text[100001];
int main(void)
{
	for (int i = 0; i < 10000; i++) many[i] = i * 2;
	for (int i = 0; i < 100000; i++) text[i] = 'a' + i % 26;
	const char *words = text;
	return many[9999] + words[3] == 0; // @full
}
