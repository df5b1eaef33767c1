// Kernels as Python functions, on the stable ABI of Python 3.11 and later.
//
// An argument is a number, a C-contiguous array (by the buffer protocol), or a named tuple of these.
// A function may have several kernels, one for each type of its arrays: the first that fits is called,
// without the GIL. Arguments that fit none raise TypeError, which names the function and the argument.
#pragma once
#include <Python.h>

#include <new>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "base/pulse.hpp"
#include "base/signature.hpp"

namespace cp {

// A struct of views and numbers that Python gives as a named tuple: `fields` is its signature line,
// `members()` ties the members in the same order.
template <class T>
concept Structure = requires(T t) {
  T::fields;
  t.members();
};

enum class Fault { none, count, tuple, array, layout, readonly, dtype, ndim, extent, aligned, integer, real, flag };

// A call while its arguments come in: which leaf is next, what the symbols stand for, what is wrong.
struct Incoming {
  const Signature& signature;
  std::size_t leaf = 0;
  std::array<Int, 32> symbols{};
  std::uint32_t known = 0;
  Fault fault = Fault::none;
  const char* wanted = "";  // the item type that did not fit
  std::string got;
  Int expected = 0;

  explicit Incoming(const Signature& s) : signature(s) {}
  bool refuse(Fault f) { return fault = f, PyErr_Clear(), false; }

  bool takes_extent(const Extent& e, Int size) {
    if (e.any) return true;
    expected = e.plus;
    if (e.symbol >= 0) {
      const std::uint32_t bit = std::uint32_t(1) << e.symbol;
      if (!(known & bit)) {
        known |= bit;
        symbols[e.symbol] = size - e.plus;
        return size >= e.plus || refuse(Fault::extent);
      }
      expected += symbols[e.symbol];
    }
    return size == expected || refuse(Fault::extent);
  }
};

template <class T>
constexpr const char* item_name() {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, bool>) return "bool";
  else if constexpr (std::is_same_v<U, double>) return "float64";
  else if constexpr (std::is_same_v<U, float>) return "float32";
  else if constexpr (!std::is_arithmetic_v<U>) return "record";
  else if constexpr (std::is_signed_v<U>) return sizeof(U) == 8 ? "int64" : sizeof(U) == 4 ? "int32" : sizeof(U) == 2 ? "int16" : "int8";
  else return sizeof(U) == 8 ? "uint64" : sizeof(U) == 4 ? "uint32" : sizeof(U) == 2 ? "uint16" : "uint8";
}

std::string buffer_item(const Py_buffer& buffer);  // module.cpp: "float64", for messages

template <class T>
struct In;  // how an argument comes in

template <>
struct In<Int> {
  Int value = 0;
  static constexpr bool array = false;
  bool take(PyObject* o, Incoming& call) {
    PyObject* index = PyNumber_Index(o);
    if (!index) return call.refuse(Fault::integer);
    value = PyLong_AsLongLong(index);
    Py_DecRef(index);
    return (value != -1 || !PyErr_Occurred()) ? (++call.leaf, true) : call.refuse(Fault::integer);
  }
};
template <>
struct In<Word> {
  Word value = 0;
  static constexpr bool array = false;
  bool take(PyObject* o, Incoming& call) {
    PyObject* index = PyNumber_Index(o);
    if (!index) return call.refuse(Fault::integer);
    value = PyLong_AsUnsignedLongLong(index);
    Py_DecRef(index);
    return (value != Word(-1) || !PyErr_Occurred()) ? (++call.leaf, true) : call.refuse(Fault::integer);
  }
};
template <>
struct In<double> {
  double value = 0;
  static constexpr bool array = false;
  bool take(PyObject* o, Incoming& call) {
    if (!PyFloat_Check(o) && !PyIndex_Check(o) && PyObject_CheckBuffer(o) == 0) return call.refuse(Fault::real);
    value = PyFloat_AsDouble(o);
    return (value != -1.0 || !PyErr_Occurred()) ? (++call.leaf, true) : call.refuse(Fault::real);
  }
};
template <>
struct In<bool> {
  bool value = false;
  static constexpr bool array = false;
  bool take(PyObject* o, Incoming& call) {
    // numpy.bool_ is no int; one item is all its buffer holds.
    const bool fits = PyBool_Check(o) || PyIndex_Check(o) || (PyObject_CheckBuffer(o) && !PyObject_HasAttrString(o, "append"));
    const int truth = fits ? PyObject_IsTrue(o) : -1;
    return truth >= 0 ? (value = truth > 0, ++call.leaf, true) : call.refuse(Fault::flag);
  }
};

template <class T, int N>
struct In<View<T, N>> {
  View<T, N> value;
  Py_buffer buffer{};
  static constexpr bool array = true;

  In() = default;
  In(const In&) = delete;
  ~In() {
    if (buffer.obj) PyBuffer_Release(&buffer);
  }
  static bool holds_items(const Py_buffer& b) {
    using U = std::remove_const_t<T>;
    if (b.itemsize != Py_ssize_t(sizeof(U)) || !b.format) return false;
    if constexpr (!std::is_arithmetic_v<U>) return *b.format == 'T';
    const char* letters = std::is_same_v<U, bool> ? "?" : std::is_floating_point_v<U> ? "df" : std::is_signed_v<U> ? "bhilq" : "BHILQ";
    return *b.format && !b.format[1] && std::strchr(letters, *b.format);
  }
  bool take(PyObject* o, Incoming& call) {
    constexpr int access = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (std::is_const_v<T> ? 0 : PyBUF_WRITABLE);
    call.wanted = item_name<T>();
    if (PyObject_GetBuffer(o, &buffer, access)) {
      PyErr_Clear();
      if (PyObject_GetBuffer(o, &buffer, PyBUF_FULL_RO)) return call.refuse(Fault::array);
      call.got = buffer_item(buffer);
      return call.refuse(!std::is_const_v<T> && buffer.readonly ? Fault::readonly : Fault::layout);
    }
    if (!holds_items(buffer)) return call.got = buffer_item(buffer), call.refuse(Fault::dtype);
    if (buffer.ndim != N) return call.expected = buffer.ndim, call.refuse(Fault::ndim);
    if (reinterpret_cast<std::uintptr_t>(buffer.buf) % alignof(T)) return call.refuse(Fault::aligned);
    const Leaf& leaf = call.signature.leaves[call.leaf];
    for (int axis = 0; axis < N; ++axis)
      if (!call.takes_extent(leaf.extents[axis], buffer.shape[axis])) return call.got = std::to_string(axis), false;
    value.data = static_cast<T*>(buffer.buf);
    std::copy_n(buffer.shape, N, value.extent.begin());
    return ++call.leaf, true;
  }
};

template <class T>
struct In<const T&> : In<T> {};

template <Structure T>
struct In<T> {
  T value{};
  static constexpr bool array = false;
  template <class... F>
  static std::tuple<In<F>...> incoming(std::tuple<F&...>);
  decltype(incoming(std::declval<T&>().members())) parts;

  bool take(PyObject* o, Incoming& call) {
    auto members = value.members();
    constexpr std::size_t n = std::tuple_size_v<decltype(members)>;
    if (!PyTuple_Check(o) || PyTuple_Size(o) != Py_ssize_t(n)) return call.refuse(Fault::tuple);
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return ((std::get<i>(parts).take(PyTuple_GetItem(o, i), call) && (std::get<i>(members) = std::get<i>(parts).value, true)) && ...);
    }(std::make_index_sequence<n>());
  }
};

// Add to `signature` what `word` says of an argument of type T.
template <class T>
void describe(Signature& signature, std::string_view word, const std::string& prefix) {
  if constexpr (Structure<T>) {
    const auto words = Signature::words(T::fields);
    const std::string inner = prefix + std::string(word) + ".";
    auto visit = [&]<class... F>(std::tuple<F&...>*) {
      if (words.size() != sizeof...(F)) signature.fail(T::fields);
      std::size_t i = 0;
      (describe<F>(signature, words[i++], inner), ...);
    };
    visit(static_cast<decltype(std::declval<T&>().members())*>(nullptr));
  } else {
    signature.add(word, prefix);
    int ndim = 0;
    if constexpr (In<T>::array) ndim = int(std::tuple_size_v<decltype(T::extent)>);
    if (signature.leaves.back().ndim != ndim) signature.fail(word);
  }
}

inline PyObject* out(Int v) { return PyLong_FromLongLong(v); }
inline PyObject* out(Word v) { return PyLong_FromUnsignedLongLong(v); }
inline PyObject* out(double v) { return PyFloat_FromDouble(v); }
inline PyObject* out(bool v) { return PyBool_FromLong(v); }
template <class... T>
PyObject* out(const std::tuple<T...>& t) {
  PyObject* o = PyTuple_New(sizeof...(T));
  if (!o) return nullptr;
  [&]<std::size_t... i>(std::index_sequence<i...>) { (PyTuple_SetItem(o, i, out(std::get<i>(t))), ...); }(std::index_sequence_for<T...>());
  return o;
}

// The GIL is given up while this lives.
class Released {
 public:
  Released();
  ~Released();
  Released(const Released&) = delete;
};

PyObject* raise(const Signature& signature, const Incoming* calls, std::size_t n, PyObject* const* args, Py_ssize_t given);
PyObject* raise_from(const Signature& signature, std::exception_ptr error);

// Several kernels behind one name.
template <auto... kernels>
struct Bound {
  static inline Signature signature;

  template <class R, class... A>
  static void set_signature(R (*)(A...), const char* name, const char* line) {
    signature = {};
    signature.kernel = name;
    signature.text = line;
    const auto words = Signature::words(line);
    if (words.size() != sizeof...(A)) signature.fail(line);
    for (auto word : words) signature.arguments.push_back(Signature::name_of(word));
    std::size_t i = 0;
    (describe<std::remove_cvref_t<A>>(signature, words[i++], ""), ...);
    if (signature.symbols.size() > 32) signature.fail("too many symbols");
  }

  // Whether the arguments fitted; the result is null then where an exception was raised.
  template <class R, class... A>
  static bool try_call(R (*kernel)(A...), PyObject* const* args, Incoming& call, PyObject*& result) {
    std::tuple<In<std::remove_cvref_t<A>>...> in;
    const bool fits = [&]<std::size_t... i>(std::index_sequence<i...>) { return (std::get<i>(in).take(args[i], call) && ...); }(std::index_sequence_for<A...>());
    if (!fits) return false;
    try {
      if constexpr (std::is_void_v<R>) {
        {
          Released released;
          std::apply([&](auto&... a) { kernel(a.value...); }, in);
        }
        Py_IncRef(Py_None);
        result = Py_None;
      } else {
        auto value = [&] {
          Released released;
          return std::apply([&](auto&... a) { return kernel(a.value...); }, in);
        }();
        result = out(value);
      }
    } catch (...) {
      result = raise_from(signature, std::current_exception());
    }
    return true;
  }

  static PyObject* call(PyObject*, PyObject* const* args, Py_ssize_t n) {
    constexpr std::size_t size = sizeof...(kernels);
    Incoming calls[size] = {((void)kernels, Incoming(signature))...};
    PyObject* result = nullptr;
    if (n == Py_ssize_t(signature.arguments.size())) {
      std::size_t i = 0;
      if ((try_call(kernels, args, calls[i++], result) || ...)) return result;
    }
    return raise(signature, calls, size, args, n);
  }
};

// A line of an area's list: a function, a named tuple, or an integer constant.
struct Entry {
  const char* name;
  const char* line = nullptr;
  void (*prepare)(const char* name, const char* line) = nullptr;
  PyObject* (*call)(PyObject*, PyObject* const*, Py_ssize_t) = nullptr;
  Signature* signature = nullptr;
  Int constant = 0;
};

template <auto first, auto... more>
Entry function(const char* name, const char* line) {
  using B = Bound<first, more...>;
  return {name, line, [](const char* n, const char* l) { B::set_signature(first, n, l); }, B::call, &B::signature};
}
template <Structure T>
Entry structure(const char* name) {
  return {name, T::fields};
}
inline Entry constant(const char* name, Int value) { return {name, nullptr, nullptr, nullptr, nullptr, value}; }

// A submodule; each one enters itself in the list that module.cpp makes Python modules of.
struct Area {
  const char* name;
  std::vector<Entry> entries;
  const Area* next;
  static inline const Area* first = nullptr;

  Area(const char* n, std::vector<Entry> e) : name(n), entries(std::move(e)), next(first) { first = this; }
  Area(const Area&) = delete;
};

}  // namespace cp
