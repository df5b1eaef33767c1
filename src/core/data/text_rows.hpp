// Delimited text as rows of cells, split as Python's csv.reader(strict=True) splits it.
//
// Text is UTF-8; cells are given by where their bytes begin and end.
#pragma once
#include <cstring>
#include <tuple>
#include <vector>

#include "base/pulse.hpp"
#include "base/view.hpp"

namespace cp::data {

using Place = std::int32_t;  // of a byte in a block of text

enum TextFault : Int { NO_FAULT, AFTER_QUOTE, OPEN_QUOTE, OTHER_WIDTH };

// Splits the text from a byte on into rows.
class RowSplitter {
 public:
  RowSplitter(Vector<u8> text, Int from, Int to, Vector<const u8> delimiter, bool last)
      : text_(text), to_(to), at_(from), delimiter_(delimiter), last_(last) {}

  // Reads a row into bounds[cell] = (begin, end); false where the text ends before the row does, or at a fault.
  bool next(Matrix<Place> bounds) {
    if (!skip_blank_lines()) return false;
    const Int start = at_, first_line = line_;
    doubled_.clear();
    for (Int cell = 0;; ++cell) {
      const bool ends_row = read_cell(cell, bounds);
      if (fault == AFTER_QUOTE) return false;
      if (fault == OPEN_QUOTE && !last_) fault = NO_FAULT, open_ = true;
      if (open_ || fault) {
        if (!fault) at_ = start, line_ = first_line;
        return open_ = false;
      }
      if (!ends_row) continue;
      fields = cell + 1;
      if (fields != bounds.shape(0)) {
        fault = OTHER_WIDTH;
        at_ = start;
        return false;
      }
      for (Int c : doubled_) join_quotes(bounds[c]);
      return true;
    }
  }

  Int place() const { return at_; }
  Int line() const { return line_; }  // line ends that were passed

  TextFault fault = NO_FAULT;
  Int fields = 0;  // of the row that was read last

 private:
  bool ends_line(u8 c) const { return c == '\n' || c == '\r'; }

  // Passes the end of a line; false where a carriage return is the last byte of a part of the text.
  bool pass_line_end() {
    if (text_[at_] == '\r' && at_ + 1 == to_ && !last_) return false;
    at_ += text_[at_] == '\r' && at_ + 1 < to_ && text_[at_ + 1] == '\n' ? 2 : 1;
    ++line_;
    return true;
  }

  bool skip_blank_lines() {
    while (at_ < to_ && ends_line(text_[at_]))
      if (!pass_line_end()) return false;
    return at_ < to_;
  }

  bool is_delimiter() const {
    const Int n = delimiter_.size();
    return text_[at_] == delimiter_[0] && (n == 1 || (n <= to_ - at_ && !std::memcmp(text_.data + at_, delimiter_.data, n)));
  }

  void keep(Int cell, Int begin, Int end, Matrix<Place> bounds) const {
    if (cell >= bounds.shape(0)) return;
    bounds(cell, 0) = Place(begin);
    bounds(cell, 1) = Place(end);
  }

  // Reads up to the end of a cell and passes the mark after it; whether the row ends there.
  //
  // `open_` is set where the text ends first, but more of it is to come.
  bool read_cell(Int cell, Matrix<Place> bounds) {
    if (at_ < to_ && text_[at_] == '"') return read_quoted(cell, bounds);
    const Int begin = at_;
    const u8 mark = delimiter_[0];
    while (at_ < to_) {
      const u8 c = text_[at_];
      if (c == mark && is_delimiter()) {
        keep(cell, begin, at_, bounds);
        at_ += delimiter_.size();
        return false;
      }
      if (ends_line(c)) {
        keep(cell, begin, at_, bounds);
        open_ = !pass_line_end();
        return true;
      }
      ++at_;
    }
    keep(cell, begin, at_, bounds);
    return end_of_text();
  }

  bool read_quoted(Int cell, Matrix<Place> bounds) {
    const Int begin = ++at_;
    bool doubled = false;
    while (at_ < to_) {
      const u8 c = text_[at_];
      if (ends_line(c)) {
        if (!pass_line_end()) return open_ = true;
      } else if (c != '"') {
        ++at_;
      } else if (at_ + 1 < to_ && text_[at_ + 1] == '"') {
        doubled = true;
        at_ += 2;
      } else {
        keep(cell, begin, at_, bounds);
        if (doubled && cell < bounds.shape(0)) doubled_.push_back(cell);
        ++at_;
        return after_quote();
      }
    }
    if (last_ && !ends_line(text_[to_ - 1])) ++line_;
    fault = OPEN_QUOTE;
    return true;
  }

  bool after_quote() {
    if (at_ == to_) return end_of_text();
    if (ends_line(text_[at_])) {
      open_ = !pass_line_end();
      return true;
    }
    if (is_delimiter()) {
      at_ += delimiter_.size();
      return false;
    }
    if (!last_ && to_ - at_ < delimiter_.size()) return open_ = true;
    ++line_;
    fault = AFTER_QUOTE;
    return true;
  }

  // A line without an end is the last one.
  bool end_of_text() {
    if (last_) ++line_;
    open_ = !last_;
    return true;
  }

  // Writes doubled quotes of a cell once.
  void join_quotes(Vector<Place> cell) {
    Int to = cell[0];
    for (Int from = cell[0]; from < cell[1]; ++from) {
      text_[to++] = text_[from];
      if (text_[from] == '"') ++from;
    }
    cell[1] = Place(to);
  }

  Vector<u8> text_;
  Int to_, at_, line_ = 0;
  Vector<const u8> delimiter_;
  bool last_, open_ = false;
  std::vector<Int> doubled_;
};

// Fill bounds[row, cell] = (begin, end) from row `row` on, of text[begin … end − 1]; quotes that are doubled
// in a cell of these rows are written once in the text.
//
// Blank lines are left out. Unless the text is the `last`, a row that it may not have as a whole is not read.
// Returns the number of rows in `bounds`, where the next row begins, the line ends passed (at a fault, those
// that csv.reader has read by then), the fault, and the number of fields of the row that is not of the width.
inline std::tuple<Int, Int, Int, Int, Int> split_rows(Vector<u8> text, Int begin, Int end, Vector<const u8> delimiter,
                                                       bool last, View<Place, 3> bounds, Int row) {
  check_part(begin, end, text.size());
  check_part(0, row, bounds.shape(0));
  Pulse pulse;
  RowSplitter splitter(text, begin, end, delimiter, last);
  Int before = begin;
  while (row < bounds.shape(0) && splitter.next(bounds[row])) {
    ++row;
    pulse(splitter.place() - before);
    before = splitter.place();
  }
  return {row, splitter.place(), splitter.line(), splitter.fault, splitter.fields};
}

}  // namespace cp::data
