// A window with one control of each kind. Whatever happens to it is a line of output: what an action is said to have
// done can be compared with that.
#include <QtWidgets/QtWidgets>
#include <cstdio>

namespace app {
static QLabel *answer;
static int ticks;

static void say(const char *what, const QString &how)
{
	printf("%s: %s\n", what, qPrintable(how));
	fflush(stdout);
}
__attribute__((noinline)) QString greeting(const QString &name)
{
	return "Hello " + name;
}
__attribute__((noinline)) void greet(QLineEdit *name)
{
	answer->setText(greeting(name->text()));
	say("greeted", name->text());
}
__attribute__((noinline)) void tick()
{
	ticks++;
}
__attribute__((noinline)) void level(int v)
{
	say("level", QString::number(v));
}
__attribute__((noinline)) void ask(QWidget *over)
{
	QMessageBox box(QMessageBox::Question, "Sure", "Really?", QMessageBox::Yes | QMessageBox::No, over);
	say("asked", box.exec() == QMessageBox::Yes ? "yes" : "no");
}
}

// Dial is painted by itself, and shows nothing of it to accessibility but its place.
class Knob : public QWidget {
public:
	int value = 0;
	QPoint from;
	explicit Knob(QWidget *in) : QWidget(in) { setFixedSize(60, 60); setAccessibleName("Knob"); }
	void paintEvent(QPaintEvent *) override
	{
		QPainter p(this);
		p.setBrush(Qt::darkGray);
		p.drawPie(rect().adjusted(2, 2, -2, -2), 225 * 16, -value * 27 * 16 / 10);
	}
	void mousePressEvent(QMouseEvent *e) override { from = e->pos(); }
	void mouseMoveEvent(QMouseEvent *e) override
	{
		value = qBound(0, value + from.y() - e->pos().y(), 100);
		from = e->pos();
		app::say("knob", QString::number(value));
		update();
	}
};

int main(int argc, char **argv)
{
	QApplication a(argc, argv);
	QMainWindow w;
	w.setWindowTitle("Controls");
	auto *in = new QWidget;
	auto *rows = new QFormLayout(in);
	auto *name = new QLineEdit, *secret = new QLineEdit;
	name->setAccessibleName("Name");
	secret->setAccessibleName("Secret");
	secret->setEchoMode(QLineEdit::Password);
	auto *button = new QPushButton("Greet");
	app::answer = new QLabel("nobody");
	auto *box = new QCheckBox("Loud");
	auto *slider = new QSlider(Qt::Horizontal);
	slider->setAccessibleName("Level");
	auto *combo = new QComboBox;
	combo->addItems({"Red", "Green", "Blue"});
	auto *list = new QListWidget;
	list->setAccessibleName("Lines");
	for (int i = 0; i < 1000; i++) list->addItem("Line " + QString::number(i));
	auto *off = new QPushButton("Never");
	off->setEnabled(false);
	auto *sure = new QPushButton("Sure?");
	auto *knob = new Knob(in);
	rows->addRow(name);
	rows->addRow(secret);
	rows->addRow(button, app::answer);
	rows->addRow(box, sure);
	rows->addRow(slider);
	rows->addRow(combo, off);
	rows->addRow(list);
	rows->addRow(knob);
	w.setCentralWidget(in);
	QMenu *file = w.menuBar()->addMenu("File");
	file->addAction("Save", [] { app::say("menu", "save"); });
	QObject::connect(button, &QPushButton::clicked, [=] { app::greet(name); });
	QObject::connect(box, &QCheckBox::toggled, [](bool on) { app::say("loud", on ? "on" : "off"); });
	QObject::connect(slider, &QSlider::valueChanged, [](int v) { app::level(v); });
	QObject::connect(combo, &QComboBox::currentTextChanged, [](const QString &s) { app::say("colour", s); });
	QObject::connect(list, &QListWidget::currentTextChanged, [](const QString &s) { app::say("line", s); });
	QObject::connect(secret, &QLineEdit::textChanged, [](const QString &s) { app::say("secret", QString::number(s.size())); });
	QObject::connect(sure, &QPushButton::clicked, [&] { app::ask(&w); });
	QTimer timer;
	QObject::connect(&timer, &QTimer::timeout, [] { app::tick(); });
	timer.start(20);
	w.resize(420, 560);
	w.show();
	app::say("display", qgetenv("DISPLAY") + " " + qgetenv("XDG_RUNTIME_DIR"));
	return a.exec();
}
