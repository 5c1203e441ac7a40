// Lines of a Python program from which kernels are launched, asked of the interpreter that runs in the process, if one
// does: by CPython's public interface of 3.9 and later, whose functions are looked up by name.
#include "python.h"

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <tuple>

#include "connection.h"

namespace {
using Object = void*;
constexpr size_t MOST_CODE = 4096;  // functions that are remembered; a program may compile them without end

template <typename T>
bool find(T*& function, const char* name) {
  function = reinterpret_cast<T*>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

struct Interpreter {
  int (*is_initialized)();
  Object (*this_thread)();
  int (*take)();  // the interpreter's lock, which launches are often made without
  void (*release)(int);
  Object (*frame)();  // borrowed
  Object (*caller)(Object);
  Object (*code)(Object);
  int (*line)(Object);
  Object (*attribute)(Object, const char*);
  const char* (*text)(Object);
  void (*forget)(Object);
  void (*clear_error)();
  bool there;

  Interpreter()
      : there(find(is_initialized, "Py_IsInitialized") && find(this_thread, "PyGILState_GetThisThreadState") &&
              find(take, "PyGILState_Ensure") && find(release, "PyGILState_Release") && find(frame, "PyEval_GetFrame") &&
              find(caller, "PyFrame_GetBack") && find(code, "PyFrame_GetCode") && find(line, "PyFrame_GetLineNumber") &&
              find(attribute, "PyObject_GetAttrString") && find(text, "PyUnicode_AsUTF8") && find(forget, "Py_DecRef") &&
              find(clear_error, "PyErr_Clear")) {}

  std::string text_of(Object object, const char* name) {
    Object value = attribute(object, name);
    const char* characters = value ? text(value) : nullptr;
    std::string result = characters ? characters : "";
    if (!characters) clear_error();
    if (value) forget(value);
    return result;
  }
};

struct Code {
  std::string file, function;
  bool own;  // the user's: neither a package's nor Python's library's
};

// What follows is read and written under the interpreter's lock alone.
std::map<Object, Code> known;  // code objects, of which a reference is kept: their addresses stay theirs
std::map<std::tuple<std::string, int, std::string>, uint32_t> numbers;

bool is_own(const std::string& file) {
  if (file.empty() || file[0] == '<') return file == "<stdin>" || file == "<string>";
  for (const char* part : {"/site-packages/", "/dist-packages/", "/lib/python3"})
    if (file.find(part) != std::string::npos) return false;
  return true;
}

// Takes the reference to `code`.
const Code& described(Interpreter& python, Object code) {
  auto found = known.find(code);
  if (found != known.end()) {
    python.forget(code);
    return found->second;
  }
  if (known.size() >= MOST_CODE) {
    for (auto& entry : known) python.forget(entry.first);
    known.clear();
  }
  std::string file = python.text_of(code, "co_filename");
  return known.emplace(code, Code{file, python.text_of(code, "co_name"), is_own(file)}).first->second;
}

uint32_t number_of(const Code& code, int line) {
  auto [at, is_new] = numbers.try_emplace({code.file, line, code.function}, uint32_t(numbers.size() + 1));
  if (is_new) tell(Request(OP_LINE).put(at->second).put<uint32_t>(line).text(code.file).text(code.function));
  return at->second;
}

// The innermost frame of the user's own code; where there is none, the outermost frame.
uint32_t line_of_frames(Interpreter& python) {
  Object frame = python.frame(), owned = nullptr;
  uint32_t number = 0;
  while (frame) {
    const Code& code = described(python, python.code(frame));
    Object next = python.caller(frame);
    if (code.own || !next) number = number_of(code, python.line(frame));
    if (owned) python.forget(owned);
    if (code.own && next) {
      python.forget(next);
      next = nullptr;
    }
    frame = owned = next;
  }
  return number;
}
}  // namespace

uint32_t python_line() {
  static Interpreter python;
  if (!python.there || !python.is_initialized() || !python.this_thread()) return 0;
  int state = python.take();
  uint32_t number = line_of_frames(python);
  python.release(state);
  return number;
}
