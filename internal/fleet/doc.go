// Package fleet keeps sessions of many programs, machines and runs together in a bucket, and asks questions of all of
// them by engines that exist: DuckDB on a desk, Trino, Spark, ClickHouse or DataFusion over the same files.
//
// It stands above export, which writes a session's tables, and bucket, which keeps objects; nothing of a server is
// here. The layout is what every engine takes for partitions:
//
//	calls/service=S/day=D/NAME.parquet
//	events/service=S/day=D/NAME.parquet
//	db/NAME.db
//	sessions/service=S/day=D/NAME.parquet
//	tests/service=S/day=D/RUN.parquet
//	runs/service=S/branch=B/RUN.json
//
// Invariants: an object never changes, so that pushing twice is pushing once; a session's row in sessions comes last,
// and questions see only sessions that have one: an interrupted push is nothing.
package fleet
