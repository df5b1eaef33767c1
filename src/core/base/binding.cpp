// How arguments come in, and what is said where they do not fit.
#include "base/binding.hpp"

namespace cp {

static std::string buffer_item(const Py_buffer& b) {
  const std::string format = b.format ? b.format : "?";
  if (format.size() != 1) return "items of format '" + format.substr(0, 40) + "'";
  const std::string bits = std::to_string(8 * b.itemsize);
  if (format == "?") return "bool";
  if (std::strchr("efdg", format[0])) return "float" + bits;
  if (std::strchr("bhilq", format[0])) return "int" + bits;
  if (std::strchr("BHILQ", format[0])) return "uint" + bits;
  return "items of format '" + format + "'";
}

bool Incoming::refuse(Fault f) {
  fault = f;
  PyErr_Clear();
  return false;
}

bool Incoming::takes_extent(const Extent& e, Int size) {
  if (e.any) return true;
  expected = e.plus;
  if (e.symbol >= 0) {
    const std::uint64_t bit = std::uint64_t(1) << e.symbol;
    if (!(known & bit)) {
      known |= bit;
      symbols[e.symbol] = size - e.plus;
      return size >= e.plus || refuse(Fault::extent);
    }
    expected += symbols[e.symbol];
  }
  return size == expected || refuse(Fault::extent);
}

bool Incoming::extents_agree() {
  for (auto [a, b] : signature.equal) {
    if (symbols[a] != symbols[b]) {
      got = signature.symbols[a] + " = " + std::to_string(symbols[a]) + " and " + signature.symbols[b] + " = " + std::to_string(symbols[b]);
      leaf = signature.leaves.size() - 1;
      return refuse(Fault::unequal);
    }
  }
  return true;
}

bool take_number(PyObject* o, Incoming& call, Int& value) {
  PyObject* index = PyNumber_Index(o);
  if (!index) return call.refuse(Fault::integer);
  value = PyLong_AsLongLong(index);
  Py_DecRef(index);
  return (value != -1 || !PyErr_Occurred()) ? (++call.leaf, true) : call.refuse(Fault::integer);
}

bool take_number(PyObject* o, Incoming& call, Word& value) {
  PyObject* index = PyNumber_Index(o);
  if (!index) return call.refuse(Fault::integer);
  value = PyLong_AsUnsignedLongLong(index);
  Py_DecRef(index);
  return (value != Word(-1) || !PyErr_Occurred()) ? (++call.leaf, true) : call.refuse(Fault::integer);
}

bool take_number(PyObject* o, Incoming& call, double& value) {
  if (!PyFloat_Check(o) && !PyIndex_Check(o) && PyObject_CheckBuffer(o) == 0) return call.refuse(Fault::real);
  value = PyFloat_AsDouble(o);
  return (value != -1.0 || !PyErr_Occurred()) ? (++call.leaf, true) : call.refuse(Fault::real);
}

bool take_number(PyObject* o, Incoming& call, bool& value) {
  // numpy.bool_ is no int; one item is all its buffer holds.
  const bool fits = PyBool_Check(o) || PyIndex_Check(o) || (PyObject_CheckBuffer(o) && !PyObject_HasAttrString(o, "append"));
  const int truth = fits ? PyObject_IsTrue(o) : -1;
  return truth >= 0 ? (value = truth > 0, ++call.leaf, true) : call.refuse(Fault::flag);
}

bool take_tuple(PyObject* o, Incoming& call, Py_ssize_t size) {
  return (PyTuple_Check(o) && PyTuple_Size(o) == size) || call.refuse(Fault::tuple);
}

Buffer::~Buffer() {
  if (held.obj) PyBuffer_Release(&held);
}

static bool holds_items(const Py_buffer& b, const ArrayKind& kind) {
  if (b.itemsize != kind.item_size || !b.format) return false;
  if (!kind.letters) return *b.format == 'T';
  return *b.format && !b.format[1] && std::strchr(kind.letters, *b.format);
}

bool take_array(PyObject* o, Incoming& call, const ArrayKind& kind, Py_buffer& buffer, Int* extent) {
  call.wanted = kind.item;
  if (PyObject_GetBuffer(o, &buffer, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (kind.written ? PyBUF_WRITABLE : 0))) {
    PyErr_Clear();
    if (PyObject_GetBuffer(o, &buffer, PyBUF_FULL_RO)) return call.refuse(Fault::array);
    call.got = buffer_item(buffer);
    return call.refuse(kind.written && buffer.readonly ? Fault::readonly : Fault::layout);
  }
  if (!holds_items(buffer, kind)) return call.got = buffer_item(buffer), call.refuse(Fault::dtype);
  if (buffer.ndim != kind.ndim) return call.expected = buffer.ndim, call.refuse(Fault::ndim);
  if (reinterpret_cast<std::uintptr_t>(buffer.buf) % kind.alignment) return call.refuse(Fault::aligned);
  const Leaf& leaf = call.signature.leaves[call.leaf];
  for (int axis = 0; axis < kind.ndim; ++axis) {
    if (!call.takes_extent(leaf.extents[axis], buffer.shape[axis])) return call.got = std::to_string(axis), false;
    extent[axis] = buffer.shape[axis];
  }
  return ++call.leaf, true;
}

namespace {

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

std::string type_name(PyObject* o) {
  PyObject* name = PyType_GetName(Py_TYPE(o));
  const char* text = name ? PyUnicode_AsUTF8AndSize(name, nullptr) : nullptr;
  std::string copy = text ? text : "an object";
  if (name) Py_DecRef(name);
  PyErr_Clear();
  return copy;
}

// The argument that a leaf belongs to.
PyObject* argument(const Signature& s, const std::string& leaf, PyObject* const* args) {
  const std::string name = leaf.substr(0, leaf.find('.'));
  const auto at = std::find(s.arguments.begin(), s.arguments.end(), name);
  return args[at - s.arguments.begin()];
}

std::string complaint(const Signature& s, const Incoming& call, const std::vector<std::string>& types, PyObject* const* args) {
  const Leaf& leaf = s.leaves[call.leaf];
  const std::string type = listed(types);
  switch (call.fault) {
    case Fault::tuple: {
      const auto dot = leaf.name.rfind('.');
      return "argument '" + leaf.name.substr(0, dot) + "' is not a named tuple with the fields of this function's structure";
    }
    case Fault::array: return "argument '" + leaf.name + "' is not an array of " + type + ", but " + type_name(argument(s, leaf.name, args));
    case Fault::layout: return "argument '" + leaf.name + "' is not a C-contiguous array of native items";
    case Fault::readonly: return "argument '" + leaf.name + "' is written to, but is a read-only array";
    case Fault::dtype: return "argument '" + leaf.name + "' holds " + call.got + " where " + type + " is needed";
    case Fault::ndim: return "argument '" + leaf.name + "' has " + std::to_string(call.expected) + " dimensions where " + std::to_string(leaf.ndim) + " are needed";
    case Fault::aligned: return "argument '" + leaf.name + "' is not aligned to its items";
    case Fault::extent: return "argument '" + leaf.name + "' has another extent on axis " + call.got + " than " + std::to_string(call.expected) + ", which the other arguments ask for";
    case Fault::unequal: return "arguments disagree on an extent: " + call.got;
    case Fault::integer: return "argument '" + leaf.name + "' is not an integer of 64 bits";
    case Fault::real: return "argument '" + leaf.name + "' is not a number";
    case Fault::function: return "argument '" + leaf.name + "' is not a function";
    case Fault::flag: return "argument '" + leaf.name + "' is not True or False";
    default: return "arguments do not fit";
  }
}

}  // namespace

PyObject* raised(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  return nullptr;
}

PyObject* raise(const Signature& s, const Incoming* calls, std::size_t n, PyObject* const* args, Py_ssize_t given) {
  if (PyErr_Occurred()) return nullptr;
  if (given != Py_ssize_t(s.arguments.size()))
    return raised(PyExc_TypeError, s.kernel + " takes " + std::to_string(s.arguments.size()) + " arguments, " + std::to_string(given) + " were given");
  // The kernel that came furthest is the one that was meant.
  std::size_t best = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (calls[i].leaf > calls[best].leaf) best = i;
  std::vector<std::string> types;
  for (std::size_t i = 0; i < n; ++i)
    if (calls[i].leaf == calls[best].leaf && std::find(types.begin(), types.end(), calls[i].wanted) == types.end()) types.push_back(calls[i].wanted);
  return raised(PyExc_TypeError, s.kernel + ": " + complaint(s, calls[best], types, args));
}

PyObject* raise_from(const Signature& s, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const Interrupted&) {
    return nullptr;  // look_up left the exception
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::out_of_range& e) {
    return raised(PyExc_IndexError, s.kernel + ": " + e.what());
  } catch (const std::exception& e) {
    return raised(PyExc_RuntimeError, s.kernel + ": " + e.what());
  }
}

}  // namespace cp
