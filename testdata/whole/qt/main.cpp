// A shop's orders, kept by Qt: texts, lists, maps and variants, JSON, XML, regular expressions, dates, signals, a thread.
#include <QtCore>

struct Line {
    QString item;
    int count = 0;
    double price = 0;
};

class Order : public QObject {
    Q_OBJECT
    Q_PROPERTY(QString who READ who CONSTANT)
public:
    Order(QString who, QDate at, QObject *parent) : QObject(parent), m_who(std::move(who)), m_at(at) {
        setObjectName("order " + m_who);
    }
    QString who() const { return m_who; }
    QDate at() const { return m_at; }
    const QVector<Line> &lines() const { return m_lines; }
    void add(const QString &item, int count, double price) {
        m_lines.append({item, count, price});
        emit changed(m_lines.size(), total());
    }
    double total() const {
        double sum = 0;
        for (const Line &l : m_lines) sum += l.count * l.price;
        return sum;
    }
signals:
    void changed(int lines, double total);
private:
    QString m_who;
    QDate m_at;
    QVector<Line> m_lines;
};

class Shop : public QObject {
    Q_OBJECT
public slots:
    void count(int lines, double total) { m_seen.insert(lines, total); }
public:
    Order *read(const QString &text) {
        static const QRegularExpression form(R"((?<who>\w+) on (?<day>[\d-]+): (?<rest>.*))");
        QRegularExpressionMatch m = form.match(text);
        if (!m.hasMatch()) return nullptr;
        auto *o = new Order(m.captured("who"), QDate::fromString(m.captured("day"), Qt::ISODate), this);
        connect(o, &Order::changed, this, &Shop::count);
        for (const QString &part : m.captured("rest").split(", ", Qt::SkipEmptyParts)) {
            QStringList words = part.split('*');
            o->add(words.value(0).trimmed(), words.value(1, "1").toInt(), words.value(2, "0.5").toDouble());
        }
        m_orders[o->who()] = o;
        return o;
    }
    QJsonObject json(const Order &o) const {
        QJsonArray lines;
        for (const Line &l : o.lines()) lines.append(QJsonObject{{"item", l.item}, {"count", l.count}});
        return {{"who", o.who()}, {"at", o.at().toString(Qt::ISODate)}, {"total", o.total()}, {"lines", lines}};
    }
    QMap<QString, Order *> orders() const { return m_orders; }
    QMap<int, double> seen() const { return m_seen; }
private:
    QMap<QString, Order *> m_orders;
    QMap<int, double> m_seen;
};

static QByteArray xml(const QJsonObject &o) {
    QByteArray out;
    QXmlStreamWriter w(&out);
    w.writeStartElement("order");
    for (auto it = o.begin(); it != o.end(); ++it) w.writeAttribute(it.key(), it.value().toVariant().toString());
    w.writeEndElement();
    return out;
}

static QVariant describe(const QVariant &v) {
    switch (static_cast<QMetaType::Type>(v.type())) {
    case QMetaType::QString: return v.toString().toUpper();
    case QMetaType::Int: return v.toInt() * 2;
    case QMetaType::QVariantList: return v.toList().size();
    default: return QString(v.typeName());
    }
}

int main(int argc, char **argv) {
    QCoreApplication app(argc, argv);
    QTextStream out(stdout);
    Shop shop;
    for (const char *text : {"ada on 2024-02-29: tea*2*3.25, cup",
                             "bob on 2023-01-05: Ölofen*1*99.9, tea*4*3.25, , pen*10*0.1", "nonsense"}) {
        Order *o = shop.read(QString::fromUtf8(text));
        out << (o ? o->objectName() : QStringLiteral("no order")) << '\n';
    }
    for (Order *o : shop.orders()) {
        QJsonObject j = shop.json(*o);
        out << QJsonDocument(j).toJson(QJsonDocument::Compact) << '\n' << xml(j) << '\n';
        out << o->at().addDays(1).toString("dddd d.M.yy") << '\n';
    }
    for (const QVariant &v : {QVariant("text"), QVariant(21), QVariant(QVariantList{1, "b", 2.5}), QVariant(QDate(2020, 1, 1)),
                              QVariant(QSize(3, 4))})
        out << describe(v).toString() << '\n';
    QMap<int, double> seen = shop.seen();
    for (auto it = seen.constBegin(); it != seen.constEnd(); ++it) out << it.key() << ": " << it.value() << '\n';
    QString hash;
    auto digest = [&] { hash = QCryptographicHash::hash("abc", QCryptographicHash::Sha1).toHex(); };
    QThread *worker = QThread::create(digest);
    QObject::connect(worker, &QThread::finished, &app, [&] {
        out << hash << '\n';
        QCoreApplication::exit(shop.orders().size());
    });
    worker->start();
    int code = app.exec();
    worker->wait();
    delete worker;
    return code;
}

#include "main.moc"
