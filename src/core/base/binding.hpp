// Kernels as Python functions, on the stable ABI of Python 3.11 and later.
//
// An argument is a number, a C-contiguous array (by the buffer protocol), or a named tuple of these.
// A function may have several kernels, one for each type of its arrays: the first that fits is called,
// without the GIL. Arguments that fit none raise TypeError, which names the function and the argument.
#pragma once
#include <Python.h>

#include <new>
#include <stdexcept>

#include "base/callback.hpp"
#include "base/fields.hpp"
#include "base/pulse.hpp"
#include "base/signature.hpp"

namespace cp {

enum class Fault { none, count, tuple, array, layout, readonly, dtype, ndim, extent, aligned, unequal, integer, real, flag, function };

// A call while its arguments come in: which leaf is next, what the symbols stand for, what is wrong.
struct Incoming {
  const Signature& signature;
  std::size_t leaf = 0;
  std::array<Int, MAX_SYMBOLS> symbols;  // where `known` has their bit
  std::uint64_t known = 0;
  Fault fault = Fault::none;
  const char* wanted = "";  // the item type that did not fit
  std::string got;
  Int expected = 0;

  explicit Incoming(const Signature& s) : signature(s) {}
  bool refuse(Fault f);
  bool takes_extent(const Extent& e, Int size);
  bool extents_agree();  // those that the line calls equal, when all are known
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

// What an array must be; the check itself is compiled once, in binding.cpp.
struct ArrayKind {
  const char* item;     // for messages
  const char* letters;  // of the buffer protocol; null for a record
  Py_ssize_t item_size;
  std::uintptr_t alignment;
  int ndim;
  bool written;
};

bool take_number(PyObject* o, Incoming& call, Int& value);
bool take_number(PyObject* o, Incoming& call, Word& value);
bool take_number(PyObject* o, Incoming& call, double& value);
bool take_number(PyObject* o, Incoming& call, bool& value);
bool take_array(PyObject* o, Incoming& call, const ArrayKind& kind, Py_buffer& buffer, Int* extent);
bool take_tuple(PyObject* o, Incoming& call, Py_ssize_t size);

template <class T>
struct In;  // how an argument comes in

template <class T>
  requires std::is_arithmetic_v<T>
struct In<T> {
  T value = 0;
  bool take(PyObject* o, Incoming& call) { return take_number(o, call, value); }
};

class Buffer {
 public:
  Py_buffer held{};
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  ~Buffer();
};

template <class T, int N>
struct In<View<T, N>> {
  using U = std::remove_const_t<T>;
  static constexpr ArrayKind kind = {
      item_name<T>(),
      !std::is_arithmetic_v<U> ? nullptr : std::is_same_v<U, bool> ? "?" : std::is_floating_point_v<U> ? "df" : std::is_signed_v<U> ? "bhilq" : "BHILQ",
      sizeof(U), alignof(U), N, !std::is_const_v<T>};
  View<T, N> value;
  Buffer buffer;

  bool take(PyObject* o, Incoming& call) {
    const bool fits = take_array(o, call, kind, buffer.held, value.extent.data());
    value.data = static_cast<T*>(buffer.held.buf);
    return fits;
  }
};

template <class T>
struct In<const T&> : In<T> {};

template <>
struct In<Callback> {
  Callback value;
  bool take(PyObject* o, Incoming& call) {
    value.function = o;
    return PyCallable_Check(o) ? (++call.leaf, true) : call.refuse(Fault::function);
  }
};

template <Structure T>
struct In<T> {
  T value{};
  template <class... F>
  static std::tuple<In<F>...> incoming(std::tuple<F&...>);
  decltype(incoming(members(std::declval<T&>()))) parts;

  bool take(PyObject* o, Incoming& call) {
    auto targets = members(value);
    constexpr std::size_t n = std::tuple_size_v<decltype(targets)>;
    if (!take_tuple(o, call, n)) return false;
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
      return ((std::get<i>(parts).take(PyTuple_GetItem(o, i), call) && (std::get<i>(targets) = std::get<i>(parts).value, true)) && ...);
    }(std::make_index_sequence<n>());
  }
};

// Code that runs once, when the module is loaded: small rather than fast, which halves the build.
#if defined(__GNUC__) || defined(__clang__)
#define COUNTERPANE_ONCE [[gnu::cold, gnu::noinline]]
#else
#define COUNTERPANE_ONCE
#endif

// Add to `signature` what `word` says of an argument of type T.
template <class T>
COUNTERPANE_ONCE void describe(Signature& signature, std::string_view word, const std::string& prefix) {
  if constexpr (Structure<T>) {
    const auto words = Signature::words(T::fields);
    const std::string inner = prefix + std::string(word) + ".";
    auto visit = [&]<class... F>(std::tuple<F&...>*) {
      if (words.size() != sizeof...(F)) signature.fail(T::fields);
      std::size_t i = 0;
      (describe<F>(signature, words[i++], inner), ...);
    };
    visit(static_cast<decltype(members(std::declval<T&>()))*>(nullptr));
  } else {
    int ndim = 0;
    if constexpr (requires { In<T>::kind; }) ndim = In<T>::kind.ndim;
    signature.add(word, prefix, ndim);
  }
}

// The Python type of an argument, a field or a result, for the stubs: "int", "uint8[]", "features.Parts",
// "tuple[int,float]"; a struct without a Python name is the tuple of its fields.
template <class T>
struct Named {
  static inline std::string name;  // of a named tuple, with its area; set when the module is loaded
};
template <class T>
struct IsTuple : std::false_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};

template <class T>
COUNTERPANE_ONCE std::string type_text() {
  const auto joined = []<class... F>(std::tuple<F...>*) {
    std::string text;
    ((text += (text.empty() ? "tuple[" : ",") + type_text<std::remove_cvref_t<F>>()), ...);
    return text + "]";
  };
  if constexpr (std::is_void_v<T>) return "None";
  else if constexpr (std::is_same_v<T, bool>) return "bool";
  else if constexpr (std::is_floating_point_v<T>) return "float";
  else if constexpr (std::is_arithmetic_v<T>) return "int";
  else if constexpr (std::is_same_v<T, Callback>) return "Callable[[],object]";
  else if constexpr (IsTuple<T>::value) return joined(static_cast<T*>(nullptr));
  else if constexpr (Structure<T>)
    return !Named<T>::name.empty() ? Named<T>::name : joined(static_cast<decltype(members(std::declval<T&>()))*>(nullptr));
  else return std::string(In<T>::kind.item) + "[]";
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

PyObject* raised(PyObject* type, const std::string& message);
PyObject* raise(const Signature& signature, const Incoming* calls, std::size_t n, PyObject* const* args, Py_ssize_t given);
PyObject* raise_from(const Signature& signature, std::exception_ptr error);

// Several kernels behind one name.
template <auto... kernels>
struct Bound {
  static inline Signature signature;

  template <class R, class... A>
  COUNTERPANE_ONCE static void set_signature(R (*)(A...), const char* name, const char* line) {
    const auto words = signature.start(name, line, sizeof...(A));
    std::size_t i = 0;
    (describe<std::remove_cvref_t<A>>(signature, words[i++], ""), ...);
    signature.finish();
  }

  // A line for each kernel: the types of its arguments and of its result.
  template <class R, class... A>
  COUNTERPANE_ONCE static std::string types_of(R (*)(A...)) {
    std::string text;
    ((text += type_text<std::remove_cvref_t<A>>() + " "), ...);
    return text + type_text<R>();
  }
  COUNTERPANE_ONCE static std::string types() {
    std::string text;
    ((text += "\n" + types_of(kernels)), ...);
    return text;
  }

  // Whether the arguments fitted; the result is null then where an exception was raised.
  template <class R, class... A>
  static bool try_call(R (*kernel)(A...), PyObject* const* args, Incoming& call, PyObject*& result) {
    std::tuple<In<std::remove_cvref_t<A>>...> in;
    const bool fits = [&]<std::size_t... i>(std::index_sequence<i...>) { return (std::get<i>(in).take(args[i], call) && ...); }(std::index_sequence_for<A...>());
    if (!fits || !call.extents_agree()) return false;
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
  std::string (*types)() = nullptr;  // of arguments or fields
  std::string* full_name = nullptr;  // of a named tuple, with its area
};

template <auto first, auto... more>
Entry function(const char* name, const char* line) {
  using B = Bound<first, more...>;
  return {name, line, [](const char* n, const char* l) { B::set_signature(first, n, l); }, B::call, &B::signature, 0, &B::types};
}
template <Structure T>
Entry structure(const char* name) {
  const auto types = [] {
    std::string text = "\n";
    [&]<class... F>(std::tuple<F&...>*) { ((text += type_text<F>() + " "), ...); }(static_cast<decltype(members(std::declval<T&>()))*>(nullptr));
    return text;
  };
  return {name, T::fields, nullptr, nullptr, nullptr, 0, types, &Named<T>::name};
}
inline Entry constant(const char* name, Int value) { return {name, nullptr, nullptr, nullptr, nullptr, value}; }

// Entries whose Python name is the C++ name; those of templates have one instance for each type of codes or counts.
#define KERNEL(name, line) function<name>(#name, line)
#define KERNEL_BY_CODE(name, line) function<name<u8>, name<u16>, name<u32>>(#name, line)
#define KERNEL_BY_SMALL_CODE(name, line) function<name<u8>, name<u16>>(#name, line)
#define KERNEL_BY_COUNT(name, line) function<name<Int>, name<double>>(#name, line)
#define TUPLE(name) structure<name>(#name)
#define CONSTANT(name) constant(#name, name)

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
