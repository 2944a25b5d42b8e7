// Objects of nlohmann::json, glm, Eigen and fmt: libraries that are headers only.
#define GLM_FORCE_XYZW_ONLY
#define FMT_HEADER_ONLY
#include "show.h"

#include <eigen3/Eigen/Dense>
#include <fmt/format.h>
#include <glm/glm.hpp>
#include <glm/gtc/quaternion.hpp>
#include <nlohmann/json.hpp>

#define COMMA ,
using nlohmann::json;
using std::string;
const string long_text = "a text that is long enough to lie outside of the object";

template <> struct Show<json> {
  static string of(const json& v) { return v.dump(); }
};
template <int n, class T, glm::qualifier q> struct Show<glm::vec<n, T, q>> {
  static string of(const glm::vec<n, T, q>& v) {
    string out;
    for (int i = 0; i < n; i++) out += string(",\"") + "xyzw"[i] + "\":" + show(v[i]);
    return "{" + out.substr(1) + "}";
  }
};
template <int c, int r, class T, glm::qualifier q> struct Show<glm::mat<c, r, T, q>> {
  static string of(const glm::mat<c, r, T, q>& v) {
    string out;
    for (int i = 0; i < c; i++) out += "," + show(v[i]);
    return "[" + out.substr(1) + "]";
  }
};
template <> struct Show<glm::quat> {
  static string of(const glm::quat& v) {
    return "{\"w\":" + show(v.w) + ",\"x\":" + show(v.x) + ",\"y\":" + show(v.y) + ",\"z\":" + show(v.z) + "}";
  }
};
template <class T, int r, int c, int o, int mr, int mc> struct Show<Eigen::Matrix<T, r, c, o, mr, mc>> {
  static string of(const Eigen::Matrix<T, r, c, o, mr, mc>& v) {
    string out;
    for (int i = 0; i < v.rows(); i++) {
      string row;
      for (int j = 0; j < v.cols(); j++) row += "," + show(v(i, j));
      out += c == 1 ? row : ",[" + row.substr(1) + "]";
    }
    return "[" + (out.empty() ? out : out.substr(1)) + "]";
  }
};
template <> struct Show<fmt::string_view> {
  static string of(fmt::string_view v) { return show_text(std::string_view(v.data(), v.size())); }
};
template <> struct Show<fmt::memory_buffer> {
  static string of(const fmt::memory_buffer& v) { return show_text(std::string_view(v.data(), v.size())); }
};

fmt::memory_buffer buffer(int n) {
  fmt::memory_buffer b;
  for (int i = 0; i < n; i++) fmt::format_to(std::back_inserter(b), "{} ", i);
  return b;
}
Eigen::MatrixXd matrix() {
  Eigen::MatrixXd m(2, 3);
  m << 1, 2, 3, 4, 5, 6.5;
  return m;
}

CASE(null, nullptr, json)
CASE(boolean, true, json)
CASE(number, -42, json)
CASE(natural, 42u, json)
CASE(real, 2.5, json)
CASE(text, long_text, json)
CASE(array, json::array({1 COMMA "two" COMMA 3.5 COMMA nullptr}), json)
CASE(object, json::parse(R"({"a":1,"b":[true,{"c":"deep"}],"e":{}})"), json)
CASE(vec2, (T_vec2{1, 2}), glm::vec2)
CASE(vec3, (T_vec3{1, 2, -3}), glm::vec3)
CASE(ivec4, (T_ivec4{1, 2, 3, 4}), glm::ivec4)
CASE(mat, (T_mat{1, 2, 3, 4, 5, 6}), glm::mat2x3)
CASE(quat, (T_quat{1, 2, 3, 4}), glm::quat)
CASE(eigen_vec, (T_eigen_vec{1, 2, 3.5}), Eigen::Vector3d)
CASE(eigen_dyn, matrix(), Eigen::MatrixXd)
CASE(fmt_view, long_text, fmt::string_view)
CASE_FIXED(fmt_buffer, buffer(5), fmt::memory_buffer)

int main(int argc, char** argv) {
  begin(argc, argv);
  RUN(null) RUN(boolean) RUN(number) RUN(natural) RUN(real) RUN(text) RUN(array) RUN(object)
  RUN(vec2) RUN(vec3) RUN(ivec4) RUN(mat) RUN(quat) RUN(eigen_vec) RUN(eigen_dyn) RUN(fmt_view)
  { RUN_FIXED(fmt_buffer) }
  return end();
}
