// What is really behind a pointer to a class with virtual functions: what is shown has the members of the whole object, and says
// its type.
#include "show.h"

using std::string;

struct Shape {
  int id;
  explicit Shape(int n) : id(n) {}
  virtual ~Shape() = default;
  virtual double area() const { return 0; }
};
struct Circle : Shape {
  double radius;
  string label = "round";
  Circle(int n, double r) : Shape(n), radius(r) {}
  double area() const override { return 3 * radius * radius; }
};
namespace solid {
struct Named {
  const char* name = "named";
  virtual ~Named() = default;
};
struct Box : Shape, Named {
  int sides[3] = {1, 2, 3};
  Box(int n) : Shape(n) {}
};
}
struct Scene {
  Shape* main;
  std::unique_ptr<Shape> owned;
  std::vector<Shape*> all;
};

ALONE void take_shape(const Shape* v) { KEEP(v); }
ALONE void take_named(const solid::Named& v) { KEEP(&v); }
ALONE void take_scene(const Scene& v) { KEEP(&v); }
ALONE void take_owned(const std::unique_ptr<Shape>& v) { KEEP(&v); }

void shapes() {
  Shape plain(1);
  expect("take_shape", "v", "{\"id\":1}", "has");
  take_shape(&plain);
  Circle circle(2, 2.5);
  string round = "{\"id\":2,\"radius\":2.5,\"label\":\"round\"}";
  expect("take_shape", "v", round, "has");
  also("Circle");
  take_shape(&circle);
  solid::Box box(3);
  string cube = "{\"id\":3,\"name\":\"named\",\"sides\":[1,2,3]}";
  expect("take_shape", "v", cube, "has");
  also("solid::Box");
  take_shape(&box);
  expect("take_named", "v", cube, "has"); // the base is not at the object's beginning
  also("solid::Box");
  take_named(box);
  Scene scene{&circle, std::make_unique<solid::Box>(3), {&plain, &circle, nullptr}};
  expect("take_scene", "v", "{\"main\":" + round + ",\"owned\":" + cube + ",\"all\":[{\"id\":1}," + round + ",null]}", "has");
  also("Circle");
  take_scene(scene);
  expect("take_owned", "v", cube, "has");
  take_owned(scene.owned);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  shapes();
  return end();
}
