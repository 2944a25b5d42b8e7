// Objects of Qt 5 and Qt 6.
#include "show.h"

#include <QByteArray>
#include <QHash>
#include <QList>
#include <QMap>
#include <QSharedPointer>
#include <QString>
#include <QStringList>
#include <QVariant>
#include <QVector>

using std::string;
#define COMMA ,

struct Point {
  int x, y;
};
template <> struct Show<Point> {
  static string of(const Point& p) { return "{\"x\":" + show(p.x) + ",\"y\":" + show(p.y) + "}"; }
};
template <> struct Show<QString> {
  static string of(const QString& v) { return show_text(v.toStdString()); }
};
template <> struct Show<QByteArray> {
  static string of(const QByteArray& v) { return show_text(v.toStdString()); }
};
template <class T> struct Show<QList<T>> {
  static string of(const QList<T>& v) { return show_range(v.begin(), v.size()); }
};
#if QT_VERSION_MAJOR < 6
template <class T> struct Show<QVector<T>> {
  static string of(const QVector<T>& v) { return show_range(v.begin(), v.size()); }
};
template <> struct Show<QStringList> {
  static string of(const QStringList& v) { return show_range(v.begin(), v.size()); }
};
#endif
template <class M> string show_qmap(const M& m) {
  string out;
  for (auto it = m.begin(); it != m.end(); ++it) out += "," + unquoted(show(it.key())) + ":" + show(it.value());
  return "{" + (out.empty() ? out : out.substr(1)) + "}";
}
template <class K, class V> struct Show<QMap<K, V>> {
  static string of(const QMap<K, V>& v) { return show_qmap(v); }
};
template <class K, class V> struct Show<QHash<K, V>> {
  static string of(const QHash<K, V>& v) { return show_qmap(v); }
};
template <class T> struct Show<QSharedPointer<T>> {
  static string of(const QSharedPointer<T>& v) { return v ? show(*v) : "null"; }
};
template <> struct Show<QVariant> {
  static string of(const QVariant& v) {
    switch (int(v.userType())) {
    case 0: return "null";
    case 1: return show(v.toBool());
    case 2: return show(v.toInt());
    case 6: return show(v.toDouble());
    case 10: return show(v.toString());
    }
    return "?";
  }
};

const QString long_text = QStringLiteral("a text that is long \u00e4 enough");
template <class C> C numbers(int n) {
  C c;
  for (int i = 0; i < n; i++) c.append(i * 7 - 3);
  return c;
}
template <class C> C texts(int n) {
  C c;
  for (int i = 0; i < n; i++) c.append(i % 2 ? long_text : QString::number(i));
  return c;
}
template <class C> C keyed(int n) {
  C c;
  for (int i = 0; i < n; i++) c.insert(QString::number(i * 31 % 1009), i);
  return c;
}

CASE(text, long_text, QString)
CASE(text_none, {}, QString)
CASE(text_made, QString::fromUtf8("made \xe2\x82\xac").toUpper(), QString)
CASE(bytes, "some bytes", QByteArray)
CASE(bytes_none, {}, QByteArray)
CASE(list_int, numbers<T_list_int>(5), QList<int>)
CASE(list_long, numbers<T_list_long>(4), QList<qlonglong>)
CASE(list_double, numbers<T_list_double>(3), QList<double>)
CASE(list_text, texts<T_list_text>(4), QList<QString>)
CASE(list_point, (T_list_point{Point{1, 2}, Point{3, 4}}), QList<Point>)
CASE(list_none, {}, QList<int>)
CASE(strings, texts<T_strings>(3), QStringList)
CASE(vector, numbers<T_vector>(120), QVector<int>)
CASE(vector_text, texts<T_vector_text>(3), QVector<QString>)
using Map = QMap<QString, int>;
CASE(map, keyed<T_map>(12), Map)
CASE(map_none, {}, Map)
using Hash = QHash<QString, int>;
CASE(hash, keyed<T_hash>(12), Hash)
CASE(hash_none, {}, Hash)
CASE(variant_none, {}, QVariant)
CASE(variant_bool, true, QVariant)
CASE(variant_int, 42, QVariant)
CASE(variant_double, 2.5, QVariant)
CASE(variant_text, long_text, QVariant)
CASE(shared, QSharedPointer<Point>(new Point{5 COMMA 6}), QSharedPointer<Point>)

int main(int argc, char** argv) {
  begin(argc, argv);
  RUN(text) RUN(text_none) RUN(text_made) RUN(bytes) RUN(bytes_none)
  RUN(list_int) RUN(list_long) RUN(list_double) RUN(list_text) RUN(list_point) RUN(list_none) RUN(strings) RUN(vector) RUN(vector_text)
  RUN(map) RUN(map_none) RUN(hash) RUN(hash_none)
  RUN(variant_none) RUN(variant_bool) RUN(variant_int) RUN(variant_double) RUN(variant_text) RUN(shared)
  return end();
}
