// Walks through tables: one table's cells in order, and where each of them is in another table.
//
// Values are numbers, or natural logs if `logs`.
#pragma once
#include <utility>

#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::inference {

// The strides of one table's variables in another, and the walk that they make.
//
// A walk's runs are the axes, innermost first, joined where they move as one in the other table. There are at least
// two; the inner two are plain loops, the others are counted like the digits of a number.
class TableWalk {
 public:
  TableWalk(Int n_variables, Int longest_scope) : steps_(zeros<Int>(n_variables)), runs_(longest_scope + 2) {}

  // By how much a state of v moves in the other table; 0 where it is not set.
  void set_step(Int v, Int step) { steps_[v] = step; }
  // The other table is a dense one over `scope`, the last variable fastest.
  void set_steps(Ints scope, Ints cards) {
    Int step = 1;
    for (Int k = scope.size() - 1; k >= 0; --k) {
      steps_[scope[k]] = step;
      step *= cards[scope[k]];
    }
  }

  // Plan the walk through a table over `scope`; the steps of its variables are used up.
  void plan(Ints scope, Ints cards) {
    n_runs_ = 0;
    for (Int k = scope.size() - 1; k >= 0; --k) {
      const Int v = scope[k], card = cards[v], step = std::exchange(steps_[v], 0);
      if (card == 1) continue;
      if (n_runs_ > 0 && step == runs_[n_runs_ - 1].size * runs_[n_runs_ - 1].step) runs_[n_runs_ - 1].size *= card;
      else runs_[n_runs_++] = {card, step, 0};
    }
    while (n_runs_ < 2) runs_[n_runs_++] = {1, 0, 0};
  }

  // Multiply `table` by `source`, from place `at` on.
  void multiply(Vector<double> table, Floats source, Int at, bool logs) {
    const Int size = runs_[0].size, step = runs_[0].step;
    const auto along = [&](auto combine) {
      for_each_row(table.size(), at, [&](Int start, Int place) {
        double* const row = table.part(start, start + size).data;
        const double* const other = source.part(place, place + (size - 1) * step + 1).data;
        combine(row, other);
      });
    };
    if (logs) {
      along([&](double* row, const double* other) {
        for (Int j = 0; j < size; ++j) row[j] += other[j * step];
      });
    } else if (step == 0) {
      along([&](double* row, const double* other) {
        const double factor = *other;
        for (Int j = 0; j < size; ++j) row[j] *= factor;
      });
    } else if (step == 1) {
      along([&](double* row, const double* other) {
        for (Int j = 0; j < size; ++j) row[j] *= other[j];
      });
    } else {
      along([&](double* row, const double* other) {
        for (Int j = 0; j < size; ++j) row[j] *= other[j * step];
      });
    }
  }

  // Fill `out` with the sums of the cells of `table`.
  void project(Floats table, Vector<double> out) {
    const Int size = runs_[0].size, step = runs_[0].step;
    out.fill(0.0);
    for_each_row(table.size(), 0, [&](Int start, Int place) {
      const double* const row = table.part(start, start + size).data;
      double* const other = out.part(place, place + (size - 1) * step + 1).data;
      if (step == 0) {
        double total = 0.0;
        for (Int j = 0; j < size; ++j) total += row[j];
        *other += total;
      } else if (step == 1) {
        for (Int j = 0; j < size; ++j) other[j] += row[j];
      } else {
        for (Int j = 0; j < size; ++j) other[j * step] += row[j];
      }
    });
  }

  // Like `project`, for logs; `peaks` is scratch at least as large as `out`.
  void project_logs(Floats table, Vector<double> out, Vector<double> peaks, Pulse& pulse) {
    const Int size = runs_[0].size, step = runs_[0].step;
    out.fill(0.0);
    peaks.part(0, out.size()).fill(-INF);
    for_each_row(table.size(), 0, [&](Int start, Int place) {
      for (Int j = 0; j < size; ++j, place += step) peaks[place] = std::max(peaks[place], table[start + j]);
    });
    for_each_row(table.size(), 0, [&](Int start, Int place) {
      for (Int j = 0; j < size; ++j, place += step) {
        const double x = table[start + j];
        pulse(10);
        if (x > -INF) out[place] += std::exp(x - peaks[place]);
      }
    });
    for (Int i = 0; i < out.size(); ++i) out[i] = out[i] > 0 ? peaks[i] + std::log(out[i]) : -INF;
  }

 private:
  struct Run {
    Int size, step, digit;
  };
  Array<Int, 1> steps_;  // by variable
  Array<Run, 1> runs_;
  Int n_runs_ = 0;

  // Call visit(start, place) for each innermost run: where it begins in the table of so many cells, and in the other.
  template <class Visit>
  void for_each_row(Int cells, Int at, Visit visit) {
    const Int size = runs_[0].size, outer = runs_[1].size, leap = runs_[1].step;
    for (Int start = 0; start < cells; at = advance(at))
      for (Int b = 0; b < outer; ++b, start += size) visit(start, at + b * leap);
  }

  // The place in the other table after one step of the runs from the third on.
  Int advance(Int at) {
    for (Int k = 2; k < n_runs_; ++k) {
      Run& run = runs_[k];
      at += run.step;
      if (++run.digit < run.size) return at;
      at -= run.step * run.size;
      run.digit = 0;
    }
    return at;
  }
};

// (ln of the largest value, which is brought to 1; the least positive value after that).
inline std::pair<double, double> rescale(Vector<double> values, bool logs) {
  double top = -INF;
  for (double x : values) top = std::max(top, x);
  if (logs) {
    if (top > -INF)
      for (double& x : values) x -= top;
    return {top, 1.0};
  }
  if (top <= 0.0) return {-INF, 1.0};
  double least = 1.0;
  for (double& x : values) {
    x /= top;
    if (x > 0.0) least = std::min(least, x);
  }
  return {std::log(top), least};
}

}  // namespace cp::inference
