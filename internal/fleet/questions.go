package fleet

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/fault"
)

// Question is one of the questions that have a name.
type Question struct {
	Name   string
	About  string
	Params []string // that it needs
	Tables []string // that it reads, as Relation takes them
	sql    string
}

// Questions are written once, for all engines: what those say in different words is in Dialects. $name is a parameter,
// {word:column} what engines say in words of their own, or a filter. They read the relations calls and sessions; calls
// has the columns of its table, service and day, for sessions that are there whole.
var Questions = []Question{
	{Name: "sessions", Tables: sessionsAlone, About: "what there is: by service and commit, newest first", sql: `
SELECT s.session, s.service, s.commit, s.host, s.status, s.exit_code, s.signal, s.events, s.started_unix_ns
FROM sessions s WHERE {service:s} ORDER BY s.started_unix_ns DESC, s.session LIMIT $limit`},
	{Name: "p99", Tables: callTables, About: "calls and their times by service, day and function", sql: `
SELECT c.service, c.day, c.function, COUNT(*) AS calls, {median:c.duration_ns} AS median_ns,
  {p99:c.duration_ns} AS p99_ns, MAX(c.duration_ns) AS max_ns
FROM calls c WHERE c.duration_ns IS NOT NULL AND {service:c} AND {function:c}
GROUP BY c.service, c.day, c.function ORDER BY c.service, c.day, p99_ns DESC, c.function LIMIT $limit`},
	{Name: "first-null", Params: []string{"function"}, Tables: callTables,
		About: "the first session in which a function returned null", sql: `
SELECT s.session, s.service, s.commit, s.host, s.started_unix_ns, COUNT(*) AS nulls, MIN(c.call) AS first_call
FROM calls c JOIN sessions s ON s.session = c.session
WHERE c.outcome = 'returned' AND c.result = 'null' AND {function:c} AND {service:c}
GROUP BY s.session, s.service, s.commit, s.host, s.started_unix_ns
ORDER BY s.started_unix_ns, s.session LIMIT $limit`},
	{Name: "slow", Tables: callTables, About: "calls that took longer than --over, by commit", sql: `
SELECT c.service, c.commit, c.function, COUNT(*) AS calls,
  SUM(CASE WHEN c.duration_ns > $over THEN 1 ELSE 0 END) AS slow, MAX(c.duration_ns) AS max_ns
FROM calls c WHERE c.duration_ns IS NOT NULL AND {service:c} AND {function:c}
GROUP BY c.service, c.commit, c.function HAVING MAX(c.duration_ns) > $over
ORDER BY slow DESC, c.service, c.commit, c.function LIMIT $limit`},
	{Name: "new-functions", Params: []string{"session"}, Tables: callTables, sql: newFunctions,
		About: "functions that a session called and the last green run did not"},
	{Name: "new-errors", Params: []string{"session"}, Tables: callTables, sql: newErrors,
		About: "what left a session's functions and not those of the last green run"},
	{Name: "regressions", Params: []string{"session"}, Tables: callTables, sql: regressions,
		About: "a session against the last green run: slower, newly called, newly failing"},
	{Name: "test", Params: []string{"test"}, Tables: testsAlone, About: "what became of a test, by branch and commit, " +
		"newest first", sql: `
SELECT t.service, t.branch, t.commit, t.suite, t.test, COUNT(*) AS runs, SUM(t.fails) AS failed,
  {median:t.duration_ns} AS median_ns, MAX(t.duration_ns) AS max_ns, MIN(t.message) AS message,
  MAX(t.started_unix_ns) AS last_unix_ns
FROM tests t WHERE {test:t} AND {service:t} GROUP BY t.service, t.branch, t.commit, t.suite, t.test
ORDER BY last_unix_ns DESC, t.service, t.suite, t.branch LIMIT $limit`},
	{Name: "flaky", Tables: testsAlone, About: "tests that both passed and failed at one commit", sql: `
SELECT t.service, t.commit, t.suite, t.test, COUNT(*) AS runs, SUM(t.fails) AS failed, MIN(t.message) AS message
FROM tests t WHERE t.commit IS NOT NULL AND (t.fails = 1 OR t.status = 'passed') AND {service:t}
GROUP BY t.service, t.commit, t.suite, t.test HAVING SUM(t.fails) > 0 AND SUM(t.fails) < COUNT(*)
ORDER BY MAX(t.started_unix_ns) DESC, t.service, t.suite, t.test LIMIT $limit`},
}

// AllTables are all that questions in SQL may read.
var AllTables = []string{"sessions", "calls", "events", "tests"}

// Tables of questions.
var (
	sessionsAlone = []string{"sessions"}
	callTables    = []string{"sessions", "calls"}
	testsAlone    = []string{"tests"}
)

const newFunctions = `
WITH` + greenRun + `
SELECT n.function, n.calls, n.first_call FROM (SELECT c.function, COUNT(*) AS calls, MIN(c.call) AS first_call
  FROM calls c JOIN subject t ON t.session = c.session GROUP BY c.function) n
LEFT JOIN (SELECT DISTINCT c.function FROM calls c JOIN green g ON g.session = c.session) o ON o.function = n.function
CROSS JOIN green g WHERE o.function IS NULL ORDER BY n.calls DESC, n.function LIMIT $limit`

// newErrors goes by the kind of what was thrown: its text tells of the one case.
const newErrors = `
WITH` + greenRun + `,
errors AS (SELECT c.session, c.function, {kind:c.thrown} AS kind, c.thrown, c.call FROM calls c
  WHERE c.outcome = 'unwound')
SELECT n.function, n.kind, n.calls, n.example, n.first_call FROM (SELECT e.function, e.kind, COUNT(*) AS calls,
    MIN(e.thrown) AS example, MIN(e.call) AS first_call
  FROM errors e JOIN subject t ON t.session = e.session GROUP BY e.function, e.kind) n
LEFT JOIN (SELECT DISTINCT e.function, e.kind FROM errors e JOIN green g ON g.session = e.session) o
  ON o.function = n.function AND o.kind = n.kind
WHERE o.function IS NULL ORDER BY n.calls DESC, n.function, n.kind LIMIT $limit`

// regressions calls a function slower whose median is half as much again and a microsecond more, of 20 calls at least:
// below that, machines differ from themselves.
const regressions = `
WITH` + greenRun + `,
times AS (SELECT c.session, c.function, COUNT(*) AS calls, {median:c.duration_ns} AS median_ns,
    SUM(CASE WHEN c.outcome = 'unwound' THEN 1 ELSE 0 END) AS errors, MIN(c.call) AS first_call
  FROM calls c WHERE c.session IN (SELECT session FROM subject UNION ALL SELECT session FROM green)
  GROUP BY c.session, c.function),
mine AS (SELECT m.* FROM times m WHERE m.session IN (SELECT session FROM subject)),
theirs AS (SELECT m.* FROM times m WHERE m.session IN (SELECT session FROM green)),
joined AS (SELECT m.function, m.calls, o.calls AS green_calls, m.median_ns, o.median_ns AS green_median_ns, m.errors,
    o.errors AS green_errors, m.first_call, CASE WHEN o.calls IS NULL THEN 'newly called'
      WHEN m.errors > 0 AND o.errors = 0 THEN 'newly failing'
      WHEN m.calls >= 20 AND o.calls >= 20 AND m.median_ns > o.median_ns * 1.5 AND m.median_ns > o.median_ns + 1000
      THEN 'slower' END AS what
  FROM mine m LEFT JOIN theirs o ON o.function = m.function)
SELECT j.what, j.function, j.calls, j.green_calls, j.median_ns, j.green_median_ns, j.errors, j.green_errors,
  j.first_call, g.session AS green
FROM joined j CROSS JOIN green g WHERE j.what IS NOT NULL
ORDER BY j.what, j.errors DESC, j.median_ns DESC, j.function LIMIT $limit`

// greenRun is the session that is asked about, and the one before it of the same service and command that ended well.
const greenRun = ` subject AS (SELECT s.session, s.service, s.command, s.args, s.started_unix_ns FROM sessions s
  WHERE s.session = $session),
green AS (SELECT s.session FROM sessions s JOIN subject t ON s.service = t.service AND s.command = t.command
    AND s.args = t.args AND s.started_unix_ns < t.started_unix_ns
  WHERE s.status = 'exited' AND s.exit_code = 0 AND s.crashes = 0
  ORDER BY s.started_unix_ns DESC, s.session DESC LIMIT 1)`

// greenNamed is greenRun where the other session is given.
const greenNamed = ` subject AS (SELECT s.session FROM sessions s WHERE s.session = $session),
green AS (SELECT s.session FROM sessions s WHERE s.session = $green)`

// Dialect is what an engine says otherwise than others.
type Dialect struct {
	Name   string
	median string // of %s
	p99    string
	kind   string // of what was thrown: its type
	// backslash: it is special in texts, where a quote is written with one.
	backslash bool
	// before is what comes before relations; sessions and table declare those over the files. %[1]s is the place, as the
	// engine reads it, %[2]s calls or events.
	before, sessions, table string
}

const splitPart = "split_part(COALESCE(%s, ''), ': ', 1)"

// wholeOnly leaves the calls of sessions that are there whole.
const wholeOnly = "session IN (SELECT session FROM sessions)"

// Dialects are all differences between engines, the first one is what strobe runs itself.
var Dialects = []Dialect{
	{Name: "duckdb", median: "CAST(quantile_disc(%s, 0.5) AS BIGINT)", p99: "CAST(quantile_disc(%s, 0.99) AS BIGINT)",
		kind: splitPart,
		sessions: `CREATE TEMP VIEW sessions AS SELECT * FROM read_parquet('%[1]s/sessions/*/*/*.parquet',
  hive_partitioning = true, union_by_name = true, hive_types = {'service': VARCHAR, 'day': VARCHAR})
  WHERE session IS NOT NULL;
`,
		table: `CREATE TEMP VIEW %[2]s AS SELECT * FROM read_parquet('%[1]s/%[2]s/*/*/*.parquet', hive_partitioning = true,
  union_by_name = true, hive_types = {'service': VARCHAR, 'day': VARCHAR}) WHERE ` + wholeOnly + `;
`},
	{Name: "clickhouse", backslash: true, median: "quantileExactLow(0.5)(%s)", p99: "quantileExactLow(0.99)(%s)",
		kind:   "splitByString(': ', COALESCE(%s, ''))[1]",
		before: "SET use_hive_partitioning = 1, join_use_nulls = 1;\n",
		sessions: `CREATE VIEW sessions AS SELECT * FROM file('%[1]s/sessions/*/*/*.parquet', Parquet);
`,
		table: `CREATE VIEW %[2]s AS SELECT * FROM file('%[1]s/%[2]s/*/*/*.parquet', Parquet) WHERE ` + wholeOnly + `;
`},
	{Name: "datafusion", median: "CAST(approx_percentile_cont(0.5) WITHIN GROUP (ORDER BY %s) AS BIGINT)",
		p99: "CAST(approx_percentile_cont(0.99) WITHIN GROUP (ORDER BY %s) AS BIGINT)", kind: splitPart,
		sessions: `CREATE EXTERNAL TABLE sessions STORED AS PARQUET PARTITIONED BY (service, day) LOCATION '%[1]s/sessions/';
`,
		table: `CREATE EXTERNAL TABLE all_%[2]s STORED AS PARQUET PARTITIONED BY (service, day) LOCATION '%[1]s/%[2]s/';
CREATE VIEW %[2]s AS SELECT * FROM all_%[2]s WHERE ` + wholeOnly + `;
`},
	{Name: "spark", backslash: true, median: "percentile_approx(%s, 0.5)", p99: "percentile_approx(%s, 0.99)",
		kind: splitPart,
		sessions: `CREATE TEMPORARY VIEW sessions USING parquet OPTIONS (path '%[1]s/sessions', mergeSchema 'true');
`,
		table: `CREATE TEMPORARY VIEW all_%[2]s USING parquet OPTIONS (path '%[1]s/%[2]s', mergeSchema 'true');
CREATE TEMPORARY VIEW %[2]s AS SELECT * FROM all_%[2]s WHERE ` + wholeOnly + `;
`},
	{Name: "trino", median: "approx_percentile(%s, 0.5)", p99: "approx_percentile(%s, 0.99)", kind: splitPart,
		before: `-- sessions, calls and events are external tables of the Hive connector over the folders below, partitioned
-- by service and day; CALL system.sync_partition_metadata brings in what was pushed since.
`,
		sessions: "-- sessions: %[1]s/sessions\n", table: "-- %[2]s: %[1]s/%[2]s WHERE " + wholeOnly + "\n"},
}

// FindDialect returns the dialect of that name.
func FindDialect(name string) (*Dialect, error) {
	var names []string
	for i := range Dialects {
		if Dialects[i].Name == name {
			return &Dialects[i], nil
		}
		names = append(names, Dialects[i].Name)
	}
	return nil, fault.New(fault.ValidationError, "Use one of "+strings.Join(names, ", ")+".", "no dialect %q", name)
}

// FindQuestion returns the question of that name; nil: there is none.
func FindQuestion(name string) *Question {
	for i := range Questions {
		if Questions[i].Name == name {
			return &Questions[i]
		}
	}
	return nil
}

// Asked are a question's parameters. "" and 0 are not given.
type Asked struct {
	Service, Function, Session, Test string
	// Green is the session that Session is compared with; "": the last green run.
	Green  string
	OverNs int64
	Limit  int
}

// quoted is what stands between quotes for a text.
func (d *Dialect) quoted(s string) string {
	if d.backslash {
		return strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s)
	}
	return strings.ReplaceAll(s, "'", "''")
}

func (d *Dialect) quote(s string) string { return "'" + d.quoted(s) + "'" }

// SQL is the question in the engine's words, without the relations that it reads.
func (q *Question) SQL(d *Dialect, a Asked) (string, error) {
	service := a.Service
	if service != "" {
		service = folderName(service)
	}
	given := map[string]string{"service": service, "function": a.Function, "session": a.Session,
		"test": a.Test}
	for _, p := range q.Params {
		if given[p] == "" {
			return "", fault.New(fault.ValidationError, "Give --"+p+".", "question %s is about a %s", q.Name, p)
		}
	}
	words := []string{"$limit", fmt.Sprint(a.Limit), "$over", fmt.Sprint(a.OverNs),
		"$session", d.quote(a.Session), "$green", d.quote(a.Green),
		"{median:c.duration_ns}", fmt.Sprintf(d.median, "c.duration_ns"),
		"{median:t.duration_ns}", fmt.Sprintf(d.median, "t.duration_ns"),
		"{p99:c.duration_ns}", fmt.Sprintf(d.p99, "c.duration_ns"), "{kind:c.thrown}", fmt.Sprintf(d.kind, "c.thrown")}
	for _, relation := range []string{"c", "s", "t"} {
		for _, column := range []string{"service", "function", "test"} {
			is := "1 = 1"
			if v := given[column]; v != "" {
				is = relation + "." + column + " = " + d.quote(v)
			}
			words = append(words, "{"+column+":"+relation+"}", is)
		}
	}
	form := q.sql
	if a.Green != "" {
		form = strings.Replace(form, greenRun, greenNamed, 1)
	}
	out := strings.NewReplacer(words...).Replace(form) // at once: nothing in a text that was given is a word
	return strings.TrimSpace(out), nil
}

// Relations declares tables for files below place, with what comes before them.
func (d *Dialect) Relations(place string, tables []string) string {
	out := d.before
	for _, t := range tables {
		out += d.Relation(t, place)
	}
	return out
}

// Relation declares one table; sessions has to be the first, tests is by itself.
func (d *Dialect) Relation(table, place string) string {
	form := d.table
	switch table {
	case "sessions":
		form = d.sessions + "%[2]s" // each word is used
		table = ""
	case "tests":
		form = strings.Replace(form, " WHERE "+wholeOnly, "", 1)
	}
	return fmt.Sprintf(form, d.quoted(place), table)
}
