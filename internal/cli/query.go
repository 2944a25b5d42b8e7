package cli

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/query"
	"github.com/strobe-debug/strobe/internal/store"
)

func (a *app) queryCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "query ID [filters] | query --file FILE [filters]",
		Short: "Ask a session's timeline",
		Long: `Shows events of a session in chronological order. Every filter is a flag. With --file it reads a
session's file, without a daemon, on any system.

Where there are too many events to read, a view answers a question about them: summary how the session went,
invariants which calls break what all others keep, table one function's calls in rows, check whether a claim
holds and which calls break it, diff what tells the calls with a claim from those without, why what led to the
event that --under names, and object what became of the one at an address.`,
		Example: `  strobe query app-2026-05-04-10h30 --view tree
  strobe query app-2026-05-04-10h30 --event-type stderr --time-from -5s
  strobe query app-2026-05-04-10h30 --function-contains parse --return-value-less-than 0
  strobe query app-2026-05-04-10h30 --view table --function-equals parse --order=-size
  strobe query app-2026-05-04-10h30 --view check --claim 'size >= 0 whenever result == true'
  strobe query app-2026-05-04-10h30 --view object --object 0x55d0c0de --allocators pool_get=pool_put
  strobe query --file app.db --view stats`,
		Args: cobra.MaximumNArgs(1),
	}
	c.Flags().StringVar(&file, "file", "", "read this session file instead of asking the daemon")
	filters := queryFlags(c.Flags(), reflect.TypeFor[query.Request](), nil)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if (file == "") == (len(args) == 0) {
			return fault.New(fault.ValidationError, "See `strobe sessions` for the ids.", "give a session id, or --file")
		}
		req := map[string]any{}
		for _, f := range filters {
			if cmd.Flags().Changed(f.name) {
				if err := f.set(req); err != nil {
					return err
				}
			}
		}
		if !a.json && req["view"] == nil && req["verbose"] == nil {
			req["verbose"] = true // people want to see arguments and results
		}
		var raw json.RawMessage
		var err error
		if file != "" {
			raw, err = queryFile(cmd, file, req)
		} else {
			req["sessionId"] = args[0]
			raw, err = a.queryDaemon(cmd, req)
		}
		if err != nil {
			return err
		}
		return a.printQuery(raw)
	}
	return c
}

func (a *app) queryDaemon(cmd *cobra.Command, req map[string]any) (json.RawMessage, error) {
	c, err := connect(cmd.Context())
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.call(cmd.Context(), "debug_query", req)
}

func queryFile(cmd *cobra.Command, path string, args map[string]any) (json.RawMessage, error) {
	st, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	b, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	var req query.Request
	if err := json.Unmarshal(b, &req); err != nil {
		return nil, fault.New(fault.ValidationError, "See `strobe query --help`.", "%w", err)
	}
	r, err := query.Run(cmd.Context(), st, req, query.Env{Ended: func() bool { return true }})
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return json.RawMessage(strings.TrimSpace(out.String())), nil
}

// queryFlag is one field of debug_query as a flag.
type queryFlag struct {
	name  string   // of the flag: function-contains
	path  []string // of the field: function, contains
	value any      // *string, *int64, *bool or *[]string, as pflag fills it
	text  bool     // a *string that stands for any JSON scalar
	pairs bool     // a *[]string of ALLOC=FREE
}

// queryFlags makes a flag of every field of a parameter struct, so that the command line has what the tool
// has, without a second list.
func queryFlags(flags *pflag.FlagSet, t reflect.Type, path []string) []*queryFlag {
	var all []*queryFlag
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		if f.Anonymous && name == "" {
			all = append(all, queryFlags(flags, ft, path)...)
			continue
		}
		if name == "" || name == "-" || name == "sessionId" {
			continue
		}
		at := append(append([]string{}, path...), name)
		if ft.Kind() == reflect.Struct {
			all = append(all, queryFlags(flags, ft, at)...)
			continue
		}
		q := &queryFlag{name: kebab(at), path: at}
		usage := f.Tag.Get("jsonschema")
		switch {
		case name == "view":
			usage = query.ViewHelp
		case name == "claim":
			usage = query.ClaimHelp
		case name == "maxTokens":
			usage = "how large the answer may be, a token being 3 bytes"
		case name == "cursor":
			usage = "what an answer to --max-tokens left out"
		case usage == "":
			usage = "events by " + strings.ReplaceAll(q.name, "-", " ")
		case name == "afterEventId":
			usage = "only what comes after this event"
		default:
			usage = inCommands(usage)
		}
		switch ft.Kind() {
		case reflect.Bool:
			q.value = flags.Bool(q.name, false, usage)
		case reflect.Int, reflect.Int32, reflect.Int64:
			q.value = flags.Int64(q.name, 0, usage)
		case reflect.Slice:
			if q.pairs = ft.Elem() == reflect.TypeFor[query.Allocator](); q.pairs {
				usage += ", ALLOC=FREE"
			}
			q.value = flags.StringSlice(q.name, nil, usage)
		default:
			q.value = flags.String(q.name, "", usage)
			q.text = ft != reflect.TypeFor[string]()
		}
		all = append(all, q)
	}
	return all
}

// set puts the flag's value into a request.
func (q *queryFlag) set(req map[string]any) error {
	for _, step := range q.path[:len(q.path)-1] {
		next, ok := req[step].(map[string]any)
		if !ok {
			next = map[string]any{}
			req[step] = next
		}
		req = next
	}
	last := q.path[len(q.path)-1]
	switch v := q.value.(type) {
	case *bool:
		req[last] = *v
	case *int64:
		req[last] = *v
	case *[]string:
		req[last] = *v
		if q.pairs {
			var all []query.Allocator
			for _, pair := range *v {
				alloc, free, _ := strings.Cut(pair, "=")
				all = append(all, query.Allocator{Alloc: alloc, Free: free})
			}
			req[last] = all
		}
	case *string:
		req[last] = *v
		if q.text && isScalar(*v) {
			req[last] = json.RawMessage(*v)
		}
	default:
		return fmt.Errorf("flag %s has no type", q.name)
	}
	return nil
}

// isScalar reports whether the text is a JSON number, boolean, null or quoted string.
func isScalar(s string) bool {
	if s == "" || s[0] == '{' || s[0] == '[' {
		return false
	}
	return json.Valid([]byte(s))
}

// kebab joins a field's path as a flag: returnValue, lessThan -> return-value-less-than.
func kebab(path []string) string {
	var b strings.Builder
	for i, r := range strings.Join(path, "-") {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func (a *app) printQuery(raw json.RawMessage) error {
	var r struct {
		Events     []rawEvent `json:"events"`
		Tree       string     `json:"tree"`
		Stats      string     `json:"stats"`
		Text       string     `json:"text"`
		TotalCount int64      `json:"totalCount"`
		HasMore    bool       `json:"hasMore"`
		Hint       string     `json:"hint"`
	}
	if err := decode("debug_query", raw, &r); err != nil {
		return err
	}
	empty := len(r.Events) == 0 && r.Tree+r.Stats+r.Text == ""
	if a.json {
		if _, err := fmt.Fprintf(a.out, "%s\n", raw); err != nil {
			return err
		}
	} else {
		for i := range r.Events {
			if err := a.printEvent(a.out, &r.Events[i]); err != nil {
				return err
			}
		}
		for _, text := range []string{r.Tree, r.Stats, r.Text} {
			if text != "" {
				if _, err := fmt.Fprintln(a.out, strings.TrimRight(text, "\n")); err != nil {
					return err
				}
			}
		}
		if r.HasMore && r.Text == "" {
			fmt.Fprintf(a.err, "%d of %d events shown\n", len(r.Events), r.TotalCount)
		}
		if r.Hint != "" {
			fmt.Fprintln(a.err, paintOn(a.err, dim, r.Hint))
		}
	}
	if empty {
		return &exitStatus{code: exitNothing}
	}
	return nil
}
