// Notes kept in LevelDB: batches, an iterator, a snapshot, deletion, compaction.
#include <cstdio>
#include <memory>
#include <string>

#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"

int main(int argc, char** argv) {
  leveldb::Options o;
  o.create_if_missing = true;
  o.write_buffer_size = 64 << 10;
  std::unique_ptr<const leveldb::FilterPolicy> filter(leveldb::NewBloomFilterPolicy(10));
  o.filter_policy = filter.get();
  leveldb::DB* raw = nullptr;
  leveldb::Status s = leveldb::DB::Open(o, argc > 1 ? argv[1] : "db", &raw);
  if (!s.ok()) { std::printf("%s\n", s.ToString().c_str()); return 1; }
  std::unique_ptr<leveldb::DB> db(raw);
  for (int i = 0; i < 400; i++) {
    leveldb::WriteBatch b;
    b.Put("note" + std::to_string(i), std::string(i % 50 * 10, 'a' + i % 26));
    if (i % 7 == 0) b.Delete("note" + std::to_string(i / 2));
    s = db->Write(leveldb::WriteOptions(), &b);
    if (!s.ok()) return 2;
  }
  const leveldb::Snapshot* then = db->GetSnapshot();
  db->Put({}, "note399", "changed");
  std::string now, old;
  leveldb::ReadOptions past;
  past.snapshot = then;
  db->Get({}, "note399", &now);
  db->Get(past, "note399", &old);
  std::printf("%s %zu %s\n", now.c_str(), old.size(), db->Get({}, "none", &now).ToString().c_str());
  db->ReleaseSnapshot(then);
  db->CompactRange(nullptr, nullptr);
  int n = 0;
  size_t bytes = 0;
  std::unique_ptr<leveldb::Iterator> it(db->NewIterator({}));
  for (it->SeekToFirst(); it->Valid(); it->Next()) n++, bytes += it->value().size();
  it->Seek("note25");
  std::printf("%d notes, %zu bytes, %s\n", n, bytes, it->key().ToString().c_str());
  it.reset();
  return 0;
}
