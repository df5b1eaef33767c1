// Views of C-contiguous arrays, arrays that own their memory, and ragged lists.
//
// A kernel that only reads takes View<const T, N>, one that writes takes View<T, N>: the binding
// refuses a read-only NumPy array for the latter. With COUNTERPANE_CHECKED every index is checked.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#ifdef COUNTERPANE_CHECKED
#include <stdexcept>
#include <string>
#endif

namespace cp {

using Int = std::int64_t;
using Word = std::uint64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

#ifdef COUNTERPANE_CHECKED
inline void check_index(Int index, Int size) {
  if (index < 0 || index >= size)
    throw std::out_of_range("index " + std::to_string(index) + " is outside of 0 … " + std::to_string(size - 1));
}
inline void check_part(Int from, Int to, Int size) {
  if (from < 0 || to < from || to > size)
    throw std::out_of_range("part " + std::to_string(from) + ":" + std::to_string(to) + " is outside of 0:" + std::to_string(size));
}
#else
inline void check_index(Int, Int) {}
inline void check_part(Int, Int, Int) {}
#endif

template <class T, int N>
struct View {
  using Item = T;
  T* data = nullptr;
  std::array<Int, N> extent{};

  operator View<const T, N>() const requires(!std::is_const_v<T>) { return {data, extent}; }

  Int shape(int axis) const { return extent[axis]; }
  Int size() const {
    Int product = 1;
    for (Int e : extent) product *= e;
    return product;
  }
  bool empty() const { return size() == 0; }

  // An item of a vector; a row, without its first axis, of anything else.
  decltype(auto) operator[](Int i) const {
    check_index(i, extent[0]);
    if constexpr (N == 1) {
      return (data[i]);
    } else {
      View<T, N - 1> row;
      std::copy_n(extent.begin() + 1, N - 1, row.extent.begin());
      row.data = data + i * row.size();
      return row;
    }
  }
  T& operator()(Int i, Int j) const requires(N == 2) {
    check_index(i, extent[0]);
    check_index(j, extent[1]);
    return data[i * extent[1] + j];
  }
  T& operator()(Int i, Int j, Int k) const requires(N == 3) {
    check_index(i, extent[0]);
    check_index(j, extent[1]);
    check_index(k, extent[2]);
    return data[(i * extent[1] + j) * extent[2] + k];
  }
  // Items or rows from … to − 1.
  View part(Int from, Int to) const {
    check_part(from, to, extent[0]);
    View v = *this;
    Int step = 1;
    for (int axis = 1; axis < N; ++axis) step *= extent[axis];
    v.data += from * step;
    v.extent[0] = to - from;
    return v;
  }
  View<T, 1> flat() const { return {data, {size()}}; }
  void fill(T value) const requires(!std::is_const_v<T>) { std::fill_n(data, size(), value); }
  // Copy as many items as this view holds.
  void copy_from(View<const T, N> other) const requires(!std::is_const_v<T>) {
    check_part(0, size(), other.size());
    if (size() > 0) std::memmove(data, other.data, size() * sizeof(T));
  }
  T* begin() const requires(N == 1) { return data; }
  T* end() const requires(N == 1) { return data + extent[0]; }
  T& back() const requires(N == 1) { return (*this)[extent[0] - 1]; }
};

template <class T>
using Vector = View<T, 1>;
template <class T>
using Matrix = View<T, 2>;
using Ints = View<const Int, 1>;
using Floats = View<const double, 1>;
using Words = View<const Word, 1>;
using Flags = View<const bool, 1>;

// An array that owns its memory: scratch that lives as long as a kernel's call. Not initialized.
template <class T, int N>
class Array : public View<T, N> {
 public:
  Array() = default;
  template <class... S>
    requires(sizeof...(S) == N && (std::is_integral_v<S> && ...))
  explicit Array(S... shape) {
    this->extent = {Int(shape)...};
    // One item at least: an empty array still has an address.
    owner_.reset(new T[std::max<Int>(this->size(), 1)]);
    this->data = owner_.get();
  }
  explicit Array(View<const T, N> other) {
    this->extent = other.extent;
    owner_.reset(new T[std::max<Int>(this->size(), 1)]);
    this->data = owner_.get();
    this->copy_from(other);
  }

 private:
  std::unique_ptr<T[]> owner_;
};

// Arrays of a given shape, filled.
template <class T, class... S>
Array<T, sizeof...(S)> filled(T value, S... shape) {
  Array<T, sizeof...(S)> a(shape...);
  a.fill(value);
  return a;
}
template <class T, class... S>
Array<T, sizeof...(S)> zeros(S... shape) {
  return filled<T>(T(0), shape...);
}

// Lists of different lengths, one after the other: list i is values[offsets[i] … offsets[i + 1] − 1].
template <class T>
struct Ragged {
  View<T, 1> values;
  Ints offsets;
  Int size() const { return offsets.size() - 1; }
  Int length(Int i) const { return offsets[i + 1] - offsets[i]; }
  View<T, 1> operator[](Int i) const { return values.part(offsets[i], offsets[i + 1]); }
};

// The length of the longest of several lists, given where they begin.
inline Int longest_list(Ints offsets) {
  Int longest = 0;
  for (Int i = 0; i + 1 < offsets.size(); ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  return longest;
}

// Where n lists begin that follow one another; length(i) is that of list i.
template <class Length>
Array<Int, 1> offsets_of(Int n, Length length) {
  Array<Int, 1> offsets(n + 1);
  offsets[0] = 0;
  for (Int i = 0; i < n; ++i) offsets[i + 1] = offsets[i] + length(i);
  return offsets;
}

}  // namespace cp
