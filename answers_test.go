package strobe_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strobe-debug/strobe/internal/pager"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/store"
)

// typical are questions whose answers are measured, of the recorded run of testdata/answers/shop.cc.
var typical = []query.Request{
	{}, {Verbose: true}, {EventType: query.Kinds{"stdout"}}, {View: "summary"}, {View: "tree"},
	{View: "tree", Unfold: true, Limit: query.MaxLimit}, {View: "stats"}, {View: "table"}, {View: "invariants"},
	{View: "check", Claim: "result >= 0"}, {View: "diff", Claim: "result > 100"}, {View: "why", Under: 160},
	{View: "missing", Function: &query.NameFilter{Equals: "Shop::refund"}},
}

// writeAnswers says how large answers are, with the default of tokens, with few, and without a bound.
func writeAnswers(t *testing.T, b *strings.Builder) {
	t.Helper()
	st := recorded(t)
	fmt.Fprintf(b, "\nA call of a model that says nothing has maxTokens %d, a token being taken as %d bytes (JSON has 3 to 4); "+
		"no answer is larger. What is left out is counted in `leftOut` or `hint`; `cursor`, `afterEventId` or `offset` goes "+
		"on. Answers of debug_query about a recorded run of testdata/answers/shop.cc (%d events), in bytes:\n\n",
		query.DefaultTokens, query.TokenBytes, st.Stats().Total())
	b.WriteString("| question | by default | maxTokens 400 | no bound |\n|---|---|---|---|\n")
	for _, req := range typical {
		q, err := json.Marshal(req)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Trim(strings.Replace(string(q), `"sessionId":"",`, "", 1), "{}")
		name = strings.ReplaceAll(name, `\u003e`, ">")
		if name == `"sessionId":""` {
			name = "the first page"
		} else {
			name = "`" + strings.ReplaceAll(name, `"`, "") + "`"
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d |\n", name, answerSize(t, st, req, query.DefaultTokens), answerSize(t, st, req, 400),
			answerSize(t, st, req, 0))
	}
}

// answerSize is how many bytes of an answer a model gets; tokens 0: a program.
func answerSize(t *testing.T, st *store.Store, req query.Request, tokens int) int {
	t.Helper()
	req.MaxTokens = tokens
	res, err := query.Run(t.Context(), st, req, query.Env{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(res); err != nil {
		t.Fatal(err)
	}
	text := bytes.TrimSpace(b.Bytes())
	if tokens > 0 {
		text = pager.First(text, tokens*query.TokenBytes, new(pager.Shelf).Put)
		if len(text) > tokens*query.TokenBytes {
			t.Errorf("%+v: %d bytes for %d tokens", req, len(text), tokens)
		}
	}
	return len(text)
}

// recorded opens the recorded run.
func recorded(t *testing.T) *store.Store {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "answers", "shop.db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shop.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}
