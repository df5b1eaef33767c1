// The module counterpane._core: one submodule an area, the instruction level, the watcher of a thread.
#include <chrono>
#include <cstdlib>

#include "base/binding.hpp"
#include "levels/loops.hpp"

namespace cp {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto BETWEEN_LOOKS = std::chrono::milliseconds(50);

thread_local PyThreadState* released_state = nullptr;
thread_local Clock::time_point last_look{};
constexpr const char* WATCHER = "counterpane.watcher";  // in the dictionary of the thread's state

}  // namespace

Released::Released() {
  last_look = Clock::now();
  released_state = PyEval_SaveThread();
}
Released::~Released() { PyEval_RestoreThread(released_state); }

namespace {

// Run `work` with the GIL; if it returns false, a Python exception is set, and the kernel ends.
template <class Work>
void with_python(Work work) {
  PyEval_RestoreThread(released_state);
  const bool go_on = work();
  released_state = PyEval_SaveThread();
  if (!go_on) throw Interrupted{};
}

bool call_without_arguments(PyObject* function) {
  Py_IncRef(function);
  PyObject* answer = PyObject_CallNoArgs(function);
  if (answer) Py_DecRef(answer);
  Py_DecRef(function);
  return answer != nullptr;
}

}  // namespace

void look_up() {
  if (Clock::now() - last_look < BETWEEN_LOOKS) return;
  with_python([] {
    if (PyErr_CheckSignals() != 0) return false;
    PyObject* state = PyThreadState_GetDict();
    PyObject* watcher = state ? PyDict_GetItemString(state, WATCHER) : nullptr;  // borrowed
    return !watcher || watcher == Py_None || call_without_arguments(watcher);
  });
  last_look = Clock::now();
}

void Callback::operator()() const {
  with_python([this] { return call_without_arguments(static_cast<PyObject*>(function)); });
}

namespace {

// Names after the text signature that inspect.signature reads, the line with the shapes, then the types.
std::string documentation(const Entry& entry) {
  const Signature& s = *entry.signature;
  std::string doc = s.kernel + "(";
  for (const auto& name : s.arguments) doc += name + ", ";
  return doc + "/)\n--\n\n" + s.kernel + "(" + s.text + ")" + entry.types();
}

PyObject* named_tuple(PyObject* factory, const Entry& entry, const std::string& module) {
  PyObject* fields = PyList_New(0);
  for (auto word : Signature::words(entry.line)) {
    PyObject* name = PyUnicode_FromString(Signature::name_of(word).c_str());
    PyList_Append(fields, name);
    Py_DecRef(name);
  }
  PyObject* args = Py_BuildValue("(sO)", entry.name, fields);
  PyObject* options = Py_BuildValue("{ss}", "module", module.c_str());
  PyObject* type = args && options ? PyObject_Call(factory, args, options) : nullptr;
  Py_DecRef(fields);
  Py_DecRef(args);
  Py_DecRef(options);
  PyObject* doc = type ? PyUnicode_FromString((entry.line + entry.types()).c_str()) : nullptr;
  if (doc && PyObject_SetAttrString(type, "__doc__", doc)) Py_DecRef(type), type = nullptr;
  Py_DecRef(doc);
  return type;
}

bool add_function(PyObject* module, const Entry& entry) {
  entry.prepare(entry.name, entry.line);
  // Python keeps pointers to the definition and its text for as long as it runs.
  auto* doc = new std::string(documentation(entry));
  auto* def = new PyMethodDef[2]{{entry.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(entry.call)), METH_FASTCALL, doc->c_str()}, {}};
  return PyModule_AddFunctions(module, def) == 0;
}

bool fill_area(PyObject* module, const Area& area, const std::string& full, PyObject* factory) {
  for (const Entry& entry : area.entries) {
    if (entry.call) {
      if (!add_function(module, entry)) return false;
    } else if (entry.line) {
      PyObject* type = named_tuple(factory, entry, full);
      if (!type || PyModule_AddObjectRef(module, entry.name, type)) return false;
      Py_DecRef(type);
    } else if (PyModule_AddIntConstant(module, entry.name, long(entry.constant))) {
      return false;
    }
  }
  return true;
}

bool add_areas(PyObject* core) {
  PyObject* collections = PyImport_ImportModule("collections");
  PyObject* factory = collections ? PyObject_GetAttrString(collections, "namedtuple") : nullptr;
  if (!factory) return false;
  for (const Area* area = Area::first; area; area = area->next)
    for (const Entry& entry : area->entries)
      if (entry.full_name) *entry.full_name = std::string(area->name) + "." + entry.name;
  for (const Area* area = Area::first; area; area = area->next) {
    const std::string full = std::string("counterpane._core.") + area->name;
    // Registered in sys.modules, so that `from counterpane._core.counts import …` finds it.
    PyObject* module = PyImport_AddModule(full.c_str());
    if (!module || !fill_area(module, *area, full, factory)) return false;
    if (PyModule_AddObjectRef(core, area->name, module)) return false;
  }
  Py_DecRef(factory);
  Py_DecRef(collections);
  return true;
}

int execute(PyObject* core) {
  try {
    const std::string error = choose_level(std::getenv("COUNTERPANE_LEVEL"));
    if (!error.empty()) return raised(PyExc_ImportError, error), -1;
    if (PyModule_AddStringConstant(core, "level", level_name())) return -1;
    if (PyModule_AddStringConstant(core, "levels", level_names().c_str())) return -1;
#ifdef COUNTERPANE_CHECKED
    if (PyModule_AddIntConstant(core, "checked", 1)) return -1;
#else
    if (PyModule_AddIntConstant(core, "checked", 0)) return -1;
#endif
    return add_areas(core) ? 0 : -1;
  } catch (const std::exception& e) {
    return raised(PyExc_ImportError, std::string("counterpane._core: ") + e.what()), -1;
  }
}

// watch(check) → the former watcher: `check` is called by this thread's kernels now and then.
PyObject* watch(PyObject*, PyObject* check) {
  PyObject* state = PyThreadState_GetDict();
  if (!state) return raised(PyExc_RuntimeError, "watch: this thread has no state");
  PyObject* former = PyDict_GetItemString(state, WATCHER);
  if (!former) former = Py_None;
  Py_IncRef(former);
  if (PyDict_SetItemString(state, WATCHER, check)) {
    Py_DecRef(former);
    return nullptr;
  }
  return former;
}

PyMethodDef METHODS[] = {{"watch", watch, METH_O, "watch(check, /)\n--\n\nHave `check` called by this thread's kernels; returns the former one."}, {}};
PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)}, {0, nullptr}};
PyModuleDef DEFINITION = {PyModuleDef_HEAD_INIT, "counterpane._core", "The compiled kernels.", 0, METHODS, SLOTS, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace cp

PyMODINIT_FUNC PyInit__core() { return PyModuleDef_Init(&cp::DEFINITION); }
