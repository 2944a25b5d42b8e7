// A workload for SQLite: tables, indexes, joins, triggers, recursion in SQL, full-text search, savepoints,
// errors, a callback from SQL into C, and an integrity check. Prints a running hash of every result row.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sqlite3.h"

static unsigned long long hash = 1469598103934665603ULL;
static long rows, errors;

static void mix(const char *s) {
	for (; *s; s++) hash = (hash ^ (unsigned char)*s) * 1099511628211ULL;
}
static int on_row(void *p, int n, char **values, char **names) {
	(void)p;
	(void)names;
	for (int i = 0; i < n; i++) mix(values[i] ? values[i] : "null");
	rows++;
	return 0;
}
static void run(sqlite3 *db, const char *sql) {
	char *msg = NULL;
	if (sqlite3_exec(db, sql, on_row, NULL, &msg) != SQLITE_OK) {
		mix(msg);
		errors++;
		sqlite3_free(msg);
	}
}
static void twist(sqlite3_context *ctx, int n, sqlite3_value **v) {
	(void)n;
	sqlite3_result_int64(ctx, sqlite3_value_int64(v[0]) * 31 % 1009);
}

int main(int argc, char **argv) {
	int n = argc > 1 ? atoi(argv[1]) : 300;
	sqlite3 *db;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK) return 2;
	sqlite3_create_function(db, "twist", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, twist, NULL, NULL);
	run(db, "create table item(id integer primary key, name text, price real, grp int);"
	        "create table log(what text, id int);"
	        "create trigger t after update on item begin insert into log values('u', new.id); end;"
	        "create virtual table doc using fts5(body);");
	sqlite3_stmt *insert, *doc;
	sqlite3_prepare_v2(db, "insert into item values(?,?,?,?)", -1, &insert, NULL);
	sqlite3_prepare_v2(db, "insert into doc values(?)", -1, &doc, NULL);
	run(db, "begin");
	for (int i = 0; i < n; i++) {
		char name[64];
		snprintf(name, sizeof name, "item %d of group %d", i * 7919 % n, i % 13);
		sqlite3_bind_int(insert, 1, i);
		sqlite3_bind_text(insert, 2, name, -1, SQLITE_TRANSIENT);
		sqlite3_bind_double(insert, 3, i * 1.25);
		sqlite3_bind_int(insert, 4, i % 13);
		if (sqlite3_step(insert) != SQLITE_DONE) errors++;
		sqlite3_reset(insert);
		sqlite3_bind_text(doc, 1, name, -1, SQLITE_TRANSIENT);
		if (sqlite3_step(doc) != SQLITE_DONE) errors++;
		sqlite3_reset(doc);
	}
	run(db, "commit");
	sqlite3_finalize(insert);
	sqlite3_finalize(doc);
	run(db, "create index by_group on item(grp, price);"
	        "select grp, count(*), sum(price), min(name), group_concat(id) from item group by grp order by 2 desc, 1;"
	        "select a.id, b.id from item a join item b on a.grp = b.grp and a.id < b.id where twist(a.id) < 40 order by 1, 2 limit 200;"
	        "with recursive c(x) as (select 1 union all select x*3%1013 from c limit 500) select sum(x), max(x) from c;"
	        "select id, sum(price) over (partition by grp order by id rows 3 preceding) from item order by id;"
	        "select rowid, bm25(doc) < 0 from doc where doc match 'group AND 7' order by rowid;"
	        "update item set price = price * 2 where id % 5 = 0;"
	        "savepoint s; delete from item where id % 3 = 0; select count(*) from item; rollback to s; release s;"
	        "select count(*), sum(price) from item; select count(*) from log;"
	        "select json_group_array(json_object('i', id, 'n', name)) from item where id < 20;"
	        "select name from item where name glob '*1?' or name like '%2%3%' order by name collate nocase;");
	run(db, "select no_such_column from item");
	run(db, "insert into item values(1, 'twice', 0, 0)");
	run(db, "this is not sql");
	run(db, "pragma integrity_check");
	run(db, "vacuum");
	int closed = sqlite3_close(db) == SQLITE_OK;
	printf("rows=%ld errors=%ld hash=%016llx closed=%d\n", rows, errors, hash, closed);
	return errors == 3 && closed ? 0 : 1;
}
