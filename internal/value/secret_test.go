package value

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/secret"
)

// builtin are the names that are known without settings.
var builtin, _ = secret.New("")

func TestRedactTree(t *testing.T) {
	for in, want := range map[string]string{
		`{"user":"a","password":"b","n":1}`:               `{"user":"a","password":{"$":"redacted"},"n":1}`,
		`{"c":{"$":"obj","t":"C","v":{"api_key":[1,2]}}}`: `{"c":{"$":"obj","t":"C","v":{"api_key":{"$":"redacted"}}}}`,
		`{"h":{"$":"dict","v":[["Cookie","x"],["a",2]]}}`: `{"h":{"$":"dict","v":[["Cookie",{"$":"redacted"}],["a",2]]}}`,
		`{"token":null,"secret":true,"a\"b":"\\"}`:        `{"token":null,"secret":true,"a\"b":"\\"}`,
		`{"password":"","token":{"secret":""}}`:           `{"password":"","token":{"secret":""}}`,
		`{"token":{"password":"x"},"passwd":"y"}`:         `{"token":{"password":{"$":"redacted"}},"passwd":{"$":"redacted"}}`,
		`{"token":"x","tokens":["x"],"next_token":258}`:   `{"token":{"$":"redacted"},"tokens":{"$":"redacted"},"next_token":258}`,
		`{"token":{"$":"text","v":"x"},"auth_token":{}}`:  `{"token":{"$":"redacted"},"auth_token":{"$":"redacted"}}`,
		`{"pass\u0077ord" : "x" , "l" : [ ] }`:            `{"pass\u0077ord" : {"$":"redacted"} , "l" : [ ] }`,
		`{"password":"cut`:                                ``,
		`[1,2]`:                                           `[1,2]`,
	} {
		if got, _ := RedactTree([]byte(in), builtin); string(got) != want {
			t.Errorf("RedactTree(%s) = %s, want %s", in, got, want)
		}
	}
	if v, _ := NewTree([]string{"p"}, 3).EnterArg([]byte(`{"p":{"$":"redacted"}}`), 0); v.Text() != "<redacted>" {
		t.Errorf("shown as %q", v.Text())
	}
}

func FuzzRedactTree(f *testing.F) {
	f.Add([]byte(`{"password":"b","x":[["token",{"a":1}]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		once, _ := RedactTree(b, builtin)
		if again, _ := RedactTree(once, builtin); len(once) > 0 && len(again) == 0 {
			t.Errorf("%q became %q, which is no tree", b, once)
		}
	})
}
