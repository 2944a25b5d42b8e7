// As keeper.c, with the library's types.
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct account {
	std::string user, password;
};
struct settings {
	std::string host, api_key;
	std::vector<account> all;
	std::unique_ptr<account> owner;
	std::map<std::string, std::string> headers;
};

[[gnu::noinline]] size_t login(std::string user, std::string password) { return user.size() + password.size(); }
[[gnu::noinline]] size_t configure(settings &s) { return s.all.size(); }
[[gnu::noinline]] size_t shown(const std::unordered_map<std::string, std::string> &m) { return m.size(); }
[[gnu::noinline]] std::string get_token(int n) { return std::string(getenv("KEEPER_PASSWORD")) + std::to_string(n); }

int main() {
	std::string secret = getenv("KEEPER_PASSWORD");
	settings s{"neighbour", secret, {{"neighbour", secret}, {"second", secret}}, nullptr, {}};
	s.owner = std::make_unique<account>(account{"neighbour", secret});
	s.headers = {{"Accept", "neighbour"}, {"Authorization", secret}, {"Set-Cookie", secret + ", longer than fits in place"}};
	size_t n = login("neighbour", secret) + configure(s) + shown({{"plain", "neighbour"}, {"db_password", secret}});
	return n == 0 || get_token(3).empty();
}
