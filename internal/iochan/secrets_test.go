package iochan

import (
	"testing"

	"github.com/strobe-debug/strobe/internal/secret"
)

func TestSecretsOfMessages(t *testing.T) {
	names, err := secret.New("")
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"what":"request","headers":{"Authorization":"Bearer x","Accept":"y"}}`: `{"what":"request","headers":{"Authorization":"<redacted>","Accept":"y"}}`,
		`{"body":"{\"user\":\"a\",\"password\":\"x\"}","ms":3}`:                  `{"body":"{\"user\":\"a\",\"password\":\"<redacted>\"}","ms":3}`,
		`{"body":"user=a&password=x"}`:                                           `{"body":"user=a&password=<redacted>"}`,
		`{"body":"{\"token\":\"cut"}`:                                            `{"body":"<redacted>"}`,
		`{"body":"no token here"}`:                                               `{"body":"no token here"}`,
	} {
		if got := string(redacted([]byte(in), names)); got != want {
			t.Errorf("redacted(%s) = %s, want %s", in, got, want)
		}
		if got := string(redacted([]byte(in), nil)); got != in {
			t.Errorf("with the switch off %s is told as %s", in, got)
		}
	}
}
