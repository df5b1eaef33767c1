// Products of tables summed (or maximized) to smaller tables, block by block: the product itself is never stored.
//
// Values are numbers, or natural logs in the log version, which takes inputs of both kinds.
#pragma once
#include <vector>

#include "base/numbers.hpp"
#include "base/pulse.hpp"

namespace cp::inference {

constexpr Int BLOCK = 4096;  // cells formed at a time; they stay in the cache

// A table in a contraction; the order of its axes is that of the contraction.
struct Operand {
  double* data;
  const std::vector<Int>* scope;
  bool logs = false;
};

// An operand as seen from a block: runs of cells in which it is contiguous, or constant (`flat`).
struct BlockView {
  double* data;
  bool logs;
  std::vector<Int> outer;              // its stride for each axis outside of the block
  std::vector<std::int32_t> offsets;   // of each run
  Int run = 1;
  bool flat = false, still = true, single = true;  // still: no outer axis; single: no axis in the block

  BlockView(const std::vector<Int>& axes, const std::vector<Int>& sizes, Int split, const Operand& operand)
      : data(operand.data), logs(operand.logs) {
    const Int n = axes.size();
    std::vector<Int> strides(n, 0);
    Int stride = 1, at = Int(operand.scope->size()) - 1;
    for (Int a = n - 1; a >= 0; --a) {
      if (at < 0 || (*operand.scope)[at] != axes[a]) continue;
      strides[a] = stride;
      stride *= sizes[a];
      --at;
    }
    outer.assign(strides.begin(), strides.begin() + split);
    for (Int s : outer) still &= s == 0;
    for (Int a = split; a < n; ++a) single &= strides[a] == 0;
    Int a = n - 1;
    if (a >= split) {
      flat = strides[a] == 0;
      while (a >= split && (strides[a] == 0) == flat) run *= sizes[a--];
    }
    Int runs = 1;
    for (Int b = split; b <= a; ++b) runs *= sizes[b];
    std::vector<Int> states(n, 0);
    Int offset = 0;
    for (Int r = 0; r < runs; ++r) {
      offsets.push_back(std::int32_t(offset));
      for (Int b = a; b >= split; --b) {
        offset += strides[b];
        if (++states[b] < sizes[b]) break;
        offset -= strides[b] * states[b];
        states[b] = 0;
      }
    }
    if (run > 1 && run < 4 && runs > 1) {  // short runs: an offset a cell
      std::vector<std::int32_t> each;
      for (std::int32_t o : offsets) for (Int i = 0; i < run; ++i) each.push_back(flat ? o : o + std::int32_t(i));
      offsets = std::move(each);
      run = 1;
      flat = false;
    }
  }

  // Call visit(cell of the block, cell of the table, length, whether the table is constant) for each run.
  template <class Visit>
  void for_each_run(Visit visit) const {
    Int start = 0;
    for (std::int32_t o : offsets) {
      visit(start, Int(o));
      start += run;
    }
  }
};

// How values are combined: numbers or logs, sums or maxima.
template <bool LOGS, bool MAXIMIZE>
struct Algebra {
  static constexpr double ONE = LOGS ? 0.0 : 1.0, ZERO = LOGS ? -INF : 0.0;
  static double times(double a, double b) { return LOGS ? a + b : a * b; }
  static double value(const BlockView& view, double x) { return LOGS && !view.logs ? std::log(x) : x; }

  static void multiply(double* __restrict block, const BlockView& view, Int size) {
    const double* const data = view.data;
    const std::int32_t* const offsets = view.offsets.data();
    const Int run = view.run;
    if (run == 1) {
      for (Int j = 0; j < size; ++j) block[j] = times(block[j], value(view, data[offsets[j]]));
    } else if (view.flat) {
      view.for_each_run([&](Int start, Int at) {
        const double factor = value(view, data[at]);
        for (Int j = 0; j < run; ++j) block[start + j] = times(block[start + j], factor);
      });
    } else if (LOGS && !view.logs) {
      view.for_each_run([&](Int start, Int at) {
        for (Int j = 0; j < run; ++j) block[start + j] += std::log(data[at + j]);
      });
    } else {
      view.for_each_run([&](Int start, Int at) {
        const double* __restrict const other = data + at;
        for (Int j = 0; j < run; ++j) block[start + j] = times(block[start + j], other[j]);
      });
    }
  }

  static double plus(double a, double b) { return MAXIMIZE ? (a < b ? b : a) : LOGS ? log_add_exp(a, b) : a + b; }

  static void add(const double* __restrict block, const BlockView& view, Int size) {
    double* const data = view.data;
    const std::int32_t* const offsets = view.offsets.data();
    const Int run = view.run;
    if (run == 1) {
      for (Int j = 0; j < size; ++j) data[offsets[j]] = plus(data[offsets[j]], block[j]);
    } else if (view.flat) {
      view.for_each_run([&](Int start, Int at) {
        double sums[4] = {ZERO, ZERO, ZERO, ZERO};
        const double* const cells = block + start;
        Int j = 0;
        for (; j + 4 <= run; j += 4) for (int k = 0; k < 4; ++k) sums[k] = plus(sums[k], cells[j + k]);
        for (; j < run; ++j) sums[0] = plus(sums[0], cells[j]);
        data[at] = plus(data[at], plus(plus(sums[0], sums[1]), plus(sums[2], sums[3])));
      });
    } else {
      view.for_each_run([&](Int start, Int at) {
        double* __restrict const other = data + at;
        for (Int j = 0; j < run; ++j) other[j] = plus(other[j], block[start + j]);
      });
    }
  }
};

// Add to each output the sums of the product of all inputs over `axes`, times `factor`.
template <bool LOGS, bool MAXIMIZE>
void contract_blocks(const std::vector<Int>& axes, const std::vector<Int>& cards, const std::vector<Operand>& inputs,
                     const std::vector<Operand>& outputs, double factor, Pulse& pulse) {
  using A = Algebra<LOGS, MAXIMIZE>;
  std::vector<Int> sizes;
  for (Int v : axes) sizes.push_back(cards[v]);
  Int split = axes.size(), size = 1, blocks = 1;
  while (split > 0 && size * sizes[split - 1] <= BLOCK) size *= sizes[--split];
  for (Int a = 0; a < split; ++a) blocks *= sizes[a];
  std::vector<BlockView> still, single, full, out;
  for (const Operand& operand : inputs) {
    BlockView view(axes, sizes, split, operand);
    (view.still ? still : view.single ? single : full).push_back(std::move(view));
  }
  for (const Operand& operand : outputs) out.emplace_back(axes, sizes, split, operand);
  std::vector<double> block(size), base(size, A::ONE);
  for (const BlockView& view : still) A::multiply(base.data(), view, size);
  std::vector<Int> states(split, 0);
  const auto step = [&](Int a, Int times) {
    for (auto* views : {&single, &full, &out})
      for (BlockView& view : *views) view.data += times * view.outer[a];
  };
  for (Int b = 0; b < blocks; ++b) {
    double scale = factor;
    for (const BlockView& view : single) scale = A::times(scale, A::value(view, *view.data));
    if (scale != A::ZERO) {
      for (Int j = 0; j < size; ++j) block[j] = A::times(scale, base[j]);
      for (const BlockView& view : full) A::multiply(block.data(), view, size);
      for (const BlockView& view : out) A::add(block.data(), view, size);
      pulse(size * Int(1 + full.size() + out.size()) * (LOGS ? 16 : 1));
    }
    for (Int a = split - 1; a >= 0; --a) {
      step(a, 1);
      if (++states[a] < sizes[a]) break;
      step(a, -states[a]);
      states[a] = 0;
    }
  }
}

inline void contract(const std::vector<Int>& axes, const std::vector<Int>& cards, const std::vector<Operand>& inputs,
                     const std::vector<Operand>& outputs, double factor, bool logs, bool maximize, Pulse& pulse) {
  const auto run = logs ? maximize ? contract_blocks<true, true> : contract_blocks<true, false>
                        : maximize ? contract_blocks<false, true> : contract_blocks<false, false>;
  run(axes, cards, inputs, outputs, factor, pulse);
}

}  // namespace cp::inference
