package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/strobe-debug/strobe/internal/bucket"
	"github.com/strobe-debug/strobe/internal/daemon"
	"github.com/strobe-debug/strobe/internal/fault"
	"github.com/strobe-debug/strobe/internal/fleet"
)

// fleetAsk is what one call of strobe fleet asks.
type fleetAsk struct {
	fleet.Asked
	from, dialect string
	show          bool
}

func (a *app) fleetCommand() *cobra.Command {
	var ask fleetAsk
	c := &cobra.Command{
		Use:   "fleet QUESTION|SQL --from PLACE",
		Short: "Ask over the sessions of many programs, machines and runs",
		Long: `Asks over all sessions that strobe push put at a place. A question is one of

` + questionList() + `
or SQL over the tables sessions, calls, events and tests, whose columns DESCRIBE calls tells. The last green run is
the last earlier session of the same service, command and arguments that exited with 0. DuckDB answers, which has to
be installed: duckdb in PATH, or Python's module. Tables in a store of objects are brought here once, since they
never change. --print shows the SQL instead, for DuckDB or with --dialect for another engine over the same files;
places of other engines' tables are to be set there.`,
		Example: `  strobe fleet sessions --from s3://traces/shop
  strobe fleet regressions --session app-2026-05-04-10h30.1f0c22aa --from /mnt/traces
  strobe fleet first-null --function shop::find --from /mnt/traces
  strobe fleet "SELECT function, sum(self_ns) FROM calls GROUP BY 1 ORDER BY 2 DESC LIMIT 9" --from /mnt/traces
  strobe fleet p99 --print --dialect trino --from s3://traces/shop`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if ask.from == "" {
				ask.from = os.Getenv(placeVariable)
			}
			if ask.Limit < 1 || ask.OverNs < 0 {
				return fault.New(fault.ValidationError, "Use numbers above 0.", "--limit %d, --over %d", ask.Limit, ask.OverNs)
			}
			return a.fleet(cmd.Context(), args[0], &ask)
		},
	}
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		for _, q := range fleet.Questions[:len(fleet.Questions)*(1-min(len(args), 1))] {
			names = append(names, q.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	f := c.Flags()
	f.StringVar(&ask.from, "from", "", "s3://BUCKET/PREFIX or a folder (default: "+placeVariable+")")
	f.StringVar(&ask.Service, "service", "", "only of this service")
	f.StringVar(&ask.Function, "function", "", "only of this function, by its whole name")
	f.StringVar(&ask.Test, "test", "", "name of the test, of question test")
	f.StringVar(&ask.Session, "session", "", "name of the session, as question sessions tells it")
	f.Int64Var(&ask.OverNs, "over", 1_000_000, "nanoseconds above which question slow counts a call")
	f.IntVar(&ask.Limit, "limit", 50, "rows at most")
	f.BoolVar(&ask.show, "print", false, "print the SQL, and run nothing")
	f.StringVar(&ask.dialect, "dialect", fleet.Dialects[0].Name, "of --print: "+strings.Join(dialectNames(), ", "))
	return c
}

func dialectNames() (names []string) {
	for _, d := range fleet.Dialects {
		names = append(names, d.Name)
	}
	return names
}

func questionList() string {
	var b strings.Builder
	for _, q := range fleet.Questions {
		fmt.Fprintf(&b, "  %-14s %s\n", q.Name, q.About)
		if len(q.Params) > 0 {
			fmt.Fprintf(&b, "  %-14s (needs --%s)\n", "", strings.Join(q.Params, ", --"))
		}
	}
	return b.String()
}

func (a *app) fleet(ctx context.Context, question string, ask *fleetAsk) error {
	d, err := fleet.FindDialect(ask.dialect)
	if err != nil {
		return err
	}
	var tables []string // none: all that there are
	sql := question
	if q := fleet.FindQuestion(question); q != nil {
		if sql, err = q.SQL(d, ask.Asked); err != nil {
			return err
		}
		tables = q.Tables
	} else if !strings.Contains(strings.TrimSpace(question), " ") {
		return fault.New(fault.ValidationError, "See strobe fleet --help for the questions.", "no question %q", question)
	}
	if ask.show {
		if tables == nil {
			tables = fleet.AllTables
		}
		fmt.Fprintf(a.out, "%s%s;\n", d.Relations(strings.TrimRight(ask.from, "/"), tables), sql)
		return nil
	}
	if d != &fleet.Dialects[0] {
		return fault.New(fault.ValidationError, "Add --print, and run it there.", "strobe runs DuckDB, not %s", d.Name)
	}
	b, err := bucket.Open(ask.from, os.Getenv)
	if err != nil {
		return err
	}
	dir, there, err := a.tablesOf(ctx, b, ask.Service, tables)
	if err != nil {
		return err
	}
	return a.askEngine(ctx, d.Relations(dir, there)+sql+";", dir, question)
}

// tablesOf returns the folder in which the tables of b are, and which. tables are those that are wanted: nil is all
// that there are.
func (a *app) tablesOf(ctx context.Context, b bucket.Bucket, service string, tables []string) (_ string, _ []string,
	err error) {
	ones := map[string]bool{}
	for _, kind := range []string{"sessions", "tests"} { // calls and events come with their sessions
		keys, err := b.List(ctx, kind+"/")
		if err != nil {
			return "", nil, err
		}
		ones[kind] = len(keys) > 0
	}
	here := func(table string) bool {
		return ones["tests"] && table == "tests" || ones["sessions"] && table != "tests"
	}
	if tables == nil {
		tables = slices.DeleteFunc(slices.Clone(fleet.AllTables), func(t string) bool { return !here(t) })
	}
	switch {
	case slices.ContainsFunc(tables, func(t string) bool { return !here(t) }) && slices.Contains(tables, "tests"):
		return "", nil, fault.New(fault.SessionNotFound, "Put some there: strobe test --push --to PLACE.",
			"%s has no runs of tests", b.Where())
	case len(tables) == 0 || !slices.Contains(tables, "tests") && !here("sessions"):
		return "", nil, fault.New(fault.SessionNotFound, "Put some there: strobe push ID --to PLACE.", "%s has no sessions",
			b.Where())
	}
	if filepath.IsAbs(b.Where()) {
		return b.Where(), tables, nil
	}
	home, err := daemon.Home()
	if err != nil {
		return "", nil, err
	}
	sum := sha256.Sum256([]byte(os.Getenv("AWS_ENDPOINT_URL") + "\x00" + b.Where()))
	dir := filepath.Join(home, "fleet", hex.EncodeToString(sum[:8]))
	n, err := fleet.Mirror(ctx, b, dir, service, tables)
	if n > 0 {
		fmt.Fprintf(a.err, "%d tables brought from %s to %s\n", n, b.Where(), dir)
	}
	return dir, tables, err
}

func (a *app) askEngine(ctx context.Context, sql, dir, question string) error {
	e, ok := fleet.FindEngine(ctx)
	if !ok {
		fmt.Fprintln(a.out, sql)
		return fleet.NoEngine()
	}
	rows, err := e.Run(ctx, sql)
	if err != nil {
		if foreign := e.Foreign(ctx, dir); foreign != "" {
			return fault.New(fault.ValidationError, "Take it away from there, or ask with a newer strobe.",
				"a file hinders the question: %s", foreign)
		}
		return fault.New(fault.ValidationError, "Columns: strobe fleet \"DESCRIBE calls\".", "%w", err)
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(struct {
			Question string              `json:"question"`
			Columns  []string            `json:"columns"`
			Rows     [][]json.RawMessage `json:"rows"`
		}{question, rows.Columns, rows.Values})
	}
	if len(rows.Values) == 0 {
		return &exitStatus{exitNothing, "no rows"}
	}
	w := tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(strings.Join(rows.Columns, "\t")))
	for _, row := range rows.Values {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = cellText(v)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// cellText is a value as a cell on one line.
func cellText(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		s = string(v)
	} else if string(v) == "null" {
		return "-"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
