package cli

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"github.com/strobe-debug/strobe/internal/query"
)

// toolWords are tools and their parameters as the commands call them, the longer ones first: answers and errors name
// the next call in the words of MCP.
var toolWords = []struct{ tool, command string }{
	{"debug_session status with threads", "strobe threads ID"},
	{"debug_session with threads", "strobe threads ID"},
	{"debug_session status", "strobe sessions ID"},
	{"debug_session list", "strobe sessions"},
	{"debug_session delete", "strobe sessions --delete ID"},
	{"debug_session stop", "strobe stop ID"},
	{"debug_session action stop", "strobe stop ID"},
	{"debug_session input", "its standard input"},
	{"debug_session", "strobe sessions"},
	{"debug_setup_tests", "strobe test --setup"},
	{"debug_view", "strobe sessions"},
	{"debug_timeline", "strobe ui"},
	{"debug_breakpoint", "strobe break"},
	{"debug_continue", "strobe continue"},
	{"debug_memory", "strobe memory"},
	{"debug_launch", "strobe run"},
	{"debug_trace", "strobe trace"},
	{"debug_query", "strobe query"},
	{"debug_channel list", "strobe channel list ID"},
	{"debug_channel", "strobe channel"},
	{"debug_test_scenario", "strobe scenario"},
	{"debug_ui_action", "strobe act"},
	{"debug_ui", "strobe look"},
	{"debug_test", "strobe test"},
}

// paramFlags are parameters whose flag is not their name with hyphens.
var paramFlags = map[string]string{
	"serializationDepth": "--depth", "symbolsPath": "--symbols", "captureOut": "--capture-out", "threadId": "--thread",
	"allThreads": "--all-threads", "standardLibrary": "--standard-library",
	"hitCount": "--hit", "tracePatterns": "--trace", "waitMs": "--wait", "onFullBuffer": "--on-full-buffer",
	"graceMs": "--grace", "projectRoot": "--project-root",
	"stopOnEntry": "--stop-on-entry", "testRunId": "--test-run-id", "eventId": "--event", "sessionId": "ID",
}

var (
	camelWord  = regexp.MustCompile(`\b[a-z]+(?:[A-Z][a-z]+)+\b`)
	withWords  = regexp.MustCompile(`(strobe query) with (--[a-z-]+)`)
	shortFlags = regexp.MustCompile(
		`\b(view|under|limit|offset|unfold|verbose|order)( (?:tree|stats|events|\d+|with\b|up to ` +
			`\d+|shows\b|has\b|thread\b|time\b))`)
	andFlag = regexp.MustCompile(`(--[a-z-]+(?: [a-z]+)?) and (--[a-z-]+)`)
)

// inCommands says in the words of the command line what answers say in those of MCP.
func inCommands(s string) string {
	had := s
	s = callsInCommands(s)
	for _, w := range toolWords {
		s = strings.ReplaceAll(s, w.tool, w.command)
	}
	s = camelWord.ReplaceAllStringFunc(s, func(word string) string {
		if flag, ok := paramFlags[word]; ok {
			return flag
		}
		if queryParams[word] {
			return "--" + kebab([]string{word})
		}
		return word
	})
	if s != had || strings.Contains(s, " more") || strings.Contains(s, "shown") {
		s = strings.ReplaceAll(shortFlags.ReplaceAllString(s, "--$1$2"), "----", "--") // it may be a flag already
	}
	s = strings.ReplaceAll(s, "(view tree)", "(--view tree)")
	s = withWords.ReplaceAllString(s, "$1 $2")
	return andFlag.ReplaceAllString(s, "$1 $2")
}

// queryParams are the parameters of debug_query: each has a flag of its name.
var queryParams = func() map[string]bool {
	all := map[string]bool{}
	t := reflect.TypeFor[query.Request]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		all[name] = true
	}
	return all
}()

// spoken are the members of an answer that are sentences.
var spoken = []string{"hint", "nextSteps", "status", "leftOut", "warnings", "notes"}

// spokenInCommands translates what an answer says, and leaves what it shows.
func spokenInCommands(raw json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return raw
	}
	changed := false
	for _, name := range spoken {
		var one string
		var list []string
		switch m := all[name]; {
		case m == nil:
		case json.Unmarshal(m, &one) == nil:
			changed = put(all, name, one, inCommands(one)) || changed
		case json.Unmarshal(m, &list) == nil:
			for i := range list {
				list[i] = inCommands(list[i])
			}
			changed = put(all, name, nil, list) || changed
		}
	}
	if !changed {
		return raw
	}
	b, err := json.Marshal(all)
	if err != nil {
		return raw
	}
	return b
}

func put(all map[string]json.RawMessage, name string, was, is any) bool {
	if was == is && was != nil {
		return false
	}
	b, err := json.Marshal(is)
	if err != nil {
		return false
	}
	all[name] = b
	return true
}
