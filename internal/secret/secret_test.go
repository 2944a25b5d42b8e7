package secret

import "testing"

func TestNames(t *testing.T) {
	names, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"password": true, "m_password": true, "userPassword": true, "PGPASSWORD": true, "apiKey": true, "API_KEY": true,
		"X-Api-Key": true, "Set-Cookie": true, "Authorization": true, "AWS_SECRET_ACCESS_KEY": true, "tokens": true,
		"password_hash": true, "client_secret": true, "accessToken": true, "MYSQL_PWD": true, "privateKeyPem": true,
		"key": false, "primary_key": false, "keyboard": false, "max_tokens": false, "maxTokens": false, "tokenizer": false,
		"password_len": false, "tokenCount": false, "secretary": false, "pwd": false, "OLDPWD": false, "author": false,
		"last_token_": false, "nextToken": false, "m_curToken": false, "client_token": true, "token": true,
		"token_expires_at": false, "PASSWORD_FILE": false, "": false, "sort_key": false,
	} {
		if got := names.Secret(name); got != want {
			t.Errorf("Secret(%q) = %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]bool{"token": true, "my_token": true, "tokens": true, "Token": true,
		"accessToken": false, "api_token": false, "GITHUB_TOKEN": false, "token_password": false, "password": false,
		"idToken": false, "validToken": true, "github.com/user/lex.nextToken": true} {
		if got := names.Doubtful(name); got != want {
			t.Errorf("Doubtful(%q) = %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]bool{"shop::get_token": true, "pkg.(*T).Password": true, "loadApiKey": true,
		"secure_getenv": true, "os.LookupEnv": true, "std::env::var": true, "setenv": false,
		"check_password": false, "next_token": false, "parseToken": false} {
		if got := names.Result(name); got != want {
			t.Errorf("Result(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestSpec(t *testing.T) {
	n, err := New("pin, -token")
	if err != nil || !n.Secret("card_pin") || n.Secret("token") || !n.Secret("secret") {
		t.Fatalf("New: %v; pin %v, token %v", err, n.Secret("card_pin"), n.Secret("token"))
	}
	if n, err = New("=key"); err != nil || !n.Secret("key") || n.Secret("keys") || !n.Secret("token") ||
		!n.In([]byte("a key")) {
		t.Errorf("New(=key): %v", err)
	}
	for _, bad := range []string{"-nothing", "a.b", "(", "-"} {
		if _, err := New(bad); err == nil {
			t.Errorf("New(%q) takes it", bad)
		}
	}
	var off *Names
	if off.Secret("password") || off.Result("password") {
		t.Error("a nil one knows names")
	}
}

func TestHeaders(t *testing.T) {
	names, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	in := "GET /token: HTTP/1.1\r\nAuthorization: Bearer x\r\nHost: a\r\nCookie:b\r\n\r\nX-Api-Key: cut"
	want := "GET /token: HTTP/1.1\r\nAuthorization: <redacted>\r\nHost: a\r\nCookie: <redacted>\r\n\r\nX-Api-Key: <redacted>"
	if got := names.Headers(in); got != want {
		t.Errorf("Headers: %q, want %q", got, want)
	}
}
