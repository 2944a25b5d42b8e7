// Package parquet writes flat tables of integers and texts as Apache Parquet, the form that DuckDB, pyarrow, Trino,
// Spark and ClickHouse read, in the one shape that Strobe's tables have: no nesting, columns that are whole or may have
// gaps.
//
// It stands behind export, at the end of the data path, and knows nothing of sessions. A row group is held compressed
// in memory until it is full, by rows or by bytes; nothing else grows with the table but a few hundred bytes of footer
// for each group. It imports nothing of ours.
package parquet
