// A program that holds a secret, which its environment gives it, wherever values are recorded; it never prints it.
#include <stdlib.h>
#include <string.h>

struct account {
	char user[24];
	char password[40];
	int number;
};
struct settings {
	const char *host;
	const char *api_key;
	struct account one, *other;
};
union either {
	char secret[40];
	int words[10];
};
struct pair {
	unsigned long token;
	long number;
};

__attribute__((noinline)) int login(const char *user, const char *password) { return strlen(user) + strlen(password); }
__attribute__((noinline)) int configure(struct settings *s) { return s->one.number + s->other->number; }
__attribute__((noinline)) int copied(struct account a, int after) { return a.number + after; }
__attribute__((noinline)) int small(struct pair p, union either *e) { return p.number + (e->secret[0] != 0); }
__attribute__((noinline)) const char *get_token(const char *secret) { return secret; }
__attribute__((noinline)) struct account made(const char *user, const char *secret) {
	struct account a = {.number = 7};
	strcpy(a.user, user);
	strcpy(a.password, secret);
	return a;
}

int main(void) {
	const char *secret = getenv("KEEPER_PASSWORD");
	struct account a = made("neighbour", secret);
	struct settings s = {.host = "neighbour", .api_key = secret, .one = a, .other = &a};
	union either e = {{0}};
	struct pair p = {0, 4};
	strcpy(e.secret, secret);
	memcpy(&p.token, secret, sizeof p.token);
	return login("neighbour", secret) + configure(&s) + copied(a, 3) + small(p, &e) == 0 || get_token(secret) == NULL;
}
