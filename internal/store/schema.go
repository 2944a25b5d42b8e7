package store

import (
	"fmt"
	"strings"

	"github.com/strobe-debug/strobe/internal/event"
)

// sessionAppID marks session files: "STRB".
const sessionAppID = 0x53545242

// sessionSchema is append only.
var sessionSchema = []string{schemaV1 + kindRows(), schemaV2, schemaV3, schemaV4, schemaV5, schemaV6}

// Columns named in words with units, since people read these with sqlite3.
const schemaV1 = `
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE kinds(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE files(id INTEGER PRIMARY KEY, path TEXT NOT NULL);
CREATE TABLE layouts(id INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE functions(id INTEGER PRIMARY KEY, name TEXT NOT NULL, name_raw TEXT, file_id INTEGER REFERENCES files,
	line INTEGER, module TEXT, language TEXT, layout_id INTEGER REFERENCES layouts);
CREATE TABLE threads(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, name TEXT);
CREATE TABLE outputs(seq INTEGER PRIMARY KEY, ts_ns INTEGER, thread_id INTEGER, kind_id INTEGER, parent INTEGER,
	depth INTEGER, flags INTEGER, ret INTEGER, data BLOB);
CREATE TABLE chunks(id INTEGER PRIMARY KEY, last_id INTEGER, n INTEGER, ts_min_ns INTEGER, ts_max_ns INTEGER,
	max_duration_ns INTEGER, format INTEGER, header BLOB);
CREATE TABLE chunk_hot(id INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE chunk_cold(id INTEGER PRIMARY KEY, data BLOB);
CREATE TABLE tail(id INTEGER PRIMARY KEY, header BLOB, hot BLOB, cold BLOB);
CREATE TABLE func_stats(func_id INTEGER PRIMARY KEY, calls INTEGER, exits INTEGER, unwound INTEGER, lost INTEGER,
	total_ns INTEGER, self_ns INTEGER, min_ns INTEGER, max_ns INTEGER, histogram BLOB);
CREATE TABLE event_rows(id INTEGER PRIMARY KEY, ts_ns INTEGER, thread_id INTEGER, parent INTEGER, kind_id INTEGER,
	func_id INTEGER, arguments TEXT, return_value TEXT, duration_ns INTEGER);
CREATE VIEW events AS SELECT e.id, (SELECT json_extract(value,'$.sessionId') FROM meta
	WHERE key='session') AS session_id,
	e.ts_ns AS timestamp_ns, t.tid AS thread_id, t.name AS thread_name, t.pid, e.parent AS parent_event_id,
	k.name AS event_type,
	f.module, f.name AS function, f.name_raw AS function_raw, p.path AS source_file, f.line AS line_number, e.arguments,
	e.return_value, e.duration_ns, CAST(o.data AS TEXT) AS text
	FROM event_rows e JOIN kinds k ON k.id = e.kind_id LEFT JOIN threads t ON t.id = e.thread_id
	LEFT JOIN functions f ON f.id = e.func_id LEFT JOIN files p ON p.id = f.file_id LEFT JOIN outputs o ON o.seq = e.id;
CREATE VIEW output AS SELECT o.seq, o.ts_ns, k.name AS kind, t.pid, t.tid, t.name AS thread, o.parent,
	CAST(o.data AS TEXT) AS text FROM outputs o JOIN kinds k ON k.id = o.kind_id LEFT JOIN threads t ON t.id = o.thread_id;
`

// schemaV2: calls that were counted and not recorded, and the names of threads that had several.
const schemaV2 = `
CREATE TABLE func_skipped(func_id INTEGER PRIMARY KEY, calls INTEGER NOT NULL);
CREATE TABLE thread_names(thread_id INTEGER, from_ns INTEGER, name TEXT NOT NULL,
	PRIMARY KEY(thread_id, from_ns)) WITHOUT ROWID;
`

// schemaV3: calls that were lost, and ends of calls.
const schemaV3 = `
CREATE TABLE func_dropped(func_id INTEGER PRIMARY KEY, calls INTEGER NOT NULL, exits INTEGER NOT NULL);
`

// schemaV4: the names of the functions that values point to.
const schemaV4 = `
ALTER TABLE functions ADD COLUMN code INTEGER;
CREATE TABLE code_names(pid INTEGER, address INTEGER, from_ns INTEGER, name TEXT NOT NULL,
	PRIMARY KEY(address, pid, from_ns)) WITHOUT ROWID;
`

// schemaV5: the streams of outputs. Column ret of an output is the id of its stream, where its kind has one; older
// files have 0 there for standard error, too.
const schemaV5 = `
CREATE TABLE streams(id INTEGER PRIMARY KEY, channel TEXT NOT NULL, name TEXT NOT NULL, media TEXT NOT NULL,
	direction TEXT NOT NULL);
CREATE VIEW stream_data AS SELECT o.seq, o.ts_ns, k.name AS kind, s.channel, s.name AS stream, s.media,
	s.direction, t.pid, t.tid, o.data
	FROM outputs o JOIN kinds k ON k.id = o.kind_id JOIN streams s ON s.id = o.ret
	LEFT JOIN threads t ON t.id = o.thread_id
	WHERE k.name IN ('stdout','stderr','data','state','channel');
`

// schemaV6: which functions ran at all, of those that were watched for that; first_ns is null of those that did not.
const schemaV6 = `
CREATE TABLE coverage(id INTEGER PRIMARY KEY, name TEXT NOT NULL, file TEXT NOT NULL, line INTEGER,
	module TEXT NOT NULL, first_ns INTEGER, thread_id INTEGER, state TEXT NOT NULL);
`

// kindRows fills table kinds, so that a file explains itself.
func kindRows() string {
	var b strings.Builder
	for k := event.FunctionEnter; k < event.NumKinds; k++ {
		fmt.Fprintf(&b, "INSERT INTO kinds VALUES(%d,'%s');\n", k, k)
	}
	return b.String()
}
