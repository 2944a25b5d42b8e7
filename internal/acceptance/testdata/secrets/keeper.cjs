// As keeper.c, in JavaScript.
class Settings {
  constructor(host, apiKey) {
    this.host = host;
    this.apiKey = apiKey;
    this.known = new Map([["session_token", apiKey], ["plain", "neighbour"]]);
  }
}
function login(user, password) { return user.length; }
function configure(settings, headers) { return settings; }
function getToken() { return process.env.KEEPER_PASSWORD; }
function* each(secret) { yield { secret, plain: "neighbour" }; }
function main() {
  login("neighbour", getToken());
  configure(new Settings("neighbour", getToken()), { authorization: getToken(), accept: "neighbour" });
  for (const _ of each(getToken()));
}
main();
