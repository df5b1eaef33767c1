// Products of tables summed (or maximized) to smaller tables, block by block: the product itself is never stored.
//
// Values are numbers, or natural logs in the log version, which takes inputs of both kinds.
#pragma once
#include <atomic>
#include <thread>
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

// How values are combined: numbers or logs, sums or maxima; or only whether they are positive (1 or 0).
enum class Values { numbers, logs, support };

template <Values VALUES, bool MAXIMIZE>
struct Algebra {
  static constexpr bool LOGS = VALUES == Values::logs;
  static constexpr double ONE = LOGS ? 0.0 : 1.0, ZERO = LOGS ? -INF : 0.0;
  static double times(double a, double b) { return LOGS ? a + b : a * b; }
  static double value(const BlockView& view, double x) {
    if constexpr (VALUES == Values::support) return x > 0.0 ? 1.0 : 0.0;
    return LOGS && !view.logs ? std::log(x) : x;
  }

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
    } else if ((LOGS && !view.logs) || VALUES == Values::support) {
      view.for_each_run([&](Int start, Int at) {
        for (Int j = 0; j < run; ++j) block[start + j] = times(block[start + j], value(view, data[at + j]));
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

// A contraction laid out in blocks: which axes are outside of the block, and how each operand moves along them.
struct BlockPlan {
  std::vector<Int> sizes;
  Int split, size = 1, blocks = 1;
  std::vector<BlockView> still, single, full, out;

  BlockPlan(const std::vector<Int>& axes, const std::vector<Int>& cards, const std::vector<Operand>& inputs, const std::vector<Operand>& outputs) : split(axes.size()) {
    for (Int v : axes) sizes.push_back(cards[v]);
    while (split > 0 && size * sizes[split - 1] <= BLOCK) size *= sizes[--split];
    for (Int a = 0; a < split; ++a) blocks *= sizes[a];
    for (const Operand& operand : inputs) {
      BlockView view(axes, sizes, split, operand);
      (view.still ? still : view.single ? single : full).push_back(std::move(view));
    }
    for (const Operand& operand : outputs) out.emplace_back(axes, sizes, split, operand);
  }

  void step(Int a, Int times) {
    for (auto* views : {&single, &full, &out})
      for (BlockView& view : *views) view.data += times * view.outer[a];
  }
  // Leave only one state of an outer axis.
  void fix(Int a, Int state) {
    step(a, state);
    blocks /= sizes[a];
    sizes[a] = 1;
  }
};

// Go through all blocks of a plan; `base` is the product of the inputs that are the same in all.
template <Values VALUES, bool MAXIMIZE>
void run_blocks(BlockPlan plan, const std::vector<double>& base, double factor, Pulse* pulse) {
  using A = Algebra<VALUES, MAXIMIZE>;
  std::vector<double> block(plan.size);
  std::vector<Int> states(plan.split, 0);
  for (Int b = 0; b < plan.blocks; ++b) {
    double scale = factor;
    for (const BlockView& view : plan.single) scale = A::times(scale, A::value(view, *view.data));
    if (scale != A::ZERO) {
      for (Int j = 0; j < plan.size; ++j) block[j] = A::times(scale, base[j]);
      for (const BlockView& view : plan.full) A::multiply(block.data(), view, plan.size);
      for (const BlockView& view : plan.out) A::add(block.data(), view, plan.size);
      if (pulse) (*pulse)(plan.size * Int(1 + plan.full.size() + plan.out.size()) * (A::LOGS ? 16 : 1));
    }
    for (Int a = plan.split - 1; a >= 0; --a) {
      plan.step(a, 1);
      if (++states[a] < plan.sizes[a]) break;
      plan.step(a, -states[a]);
      states[a] = 0;
    }
  }
}

inline thread_local Int contraction_threads = 1;  // for cliques of very many cells
constexpr Int PIECES = 8, LARGE_BLOCKS = 1024, SMALL_OUTPUT = 1 << 16;

// The outer axes along which a large contraction is cut into pieces: those that all large outputs have.
inline std::vector<Int> piece_axes(const BlockPlan& plan, const std::vector<Int>& sizes_of_outputs) {
  std::vector<Int> axes;
  Int pieces = 1;
  for (Int a = 0; a < plan.split && pieces < PIECES && plan.blocks >= LARGE_BLOCKS; ++a) {
    bool fits = plan.sizes[a] > 1;
    for (std::size_t k = 0; k < plan.out.size(); ++k) fits &= sizes_of_outputs[k] <= SMALL_OUTPUT || plan.out[k].outer[a] != 0;
    if (!fits) continue;
    axes.push_back(a);
    pieces *= plan.sizes[a];
  }
  return pieces <= 4096 ? axes : std::vector<Int>();
}

// Threads that take pieces of work in turn, together with the one that has them.
class Helpers {
 public:
  std::atomic<Int> next{0};

  template <class Work>
  Helpers(Int n, Int pieces, const Work& work) : pieces_(pieces) {
    for (Int t = 0; t < n; ++t) threads_.emplace_back([this, &work] { for (Int p; (p = next++) < pieces_;) work(p, nullptr); });
  }
  ~Helpers() {
    next = pieces_;
    for (std::thread& thread : threads_) thread.join();
  }
  Helpers(const Helpers&) = delete;

 private:
  Int pieces_;
  std::vector<std::thread> threads_;
};

// Add to each output the sums of the product of all inputs over `axes`, times `factor`.
//
// A large contraction is cut into pieces, which threads take in turn. A small output has a copy for each piece, and these
// are added in order: so the number of threads changes no bit.
template <Values VALUES, bool MAXIMIZE>
void contract_blocks(const std::vector<Int>& axes, const std::vector<Int>& cards, const std::vector<Operand>& inputs,
                     const std::vector<Operand>& outputs, double factor, Pulse& pulse) {
  using A = Algebra<VALUES, MAXIMIZE>;
  const BlockPlan plan(axes, cards, inputs, outputs);
  std::vector<double> base(plan.size, A::ONE);
  for (const BlockView& view : plan.still) A::multiply(base.data(), view, plan.size);
  std::vector<Int> cells;
  for (const Operand& output : outputs) {
    cells.push_back(1);
    for (Int v : *output.scope) cells.back() *= cards[v];
  }
  const std::vector<Int> cut = piece_axes(plan, cells);
  if (cut.empty()) return run_blocks<VALUES, MAXIMIZE>(plan, base, factor, &pulse);
  Int pieces = 1;
  for (Int a : cut) pieces *= plan.sizes[a];
  std::vector<std::vector<double>> copies(outputs.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    bool apart = true;  // whether no two pieces write to the same cell
    for (Int a : cut) apart &= plan.out[k].outer[a] != 0;
    if (!apart) copies[k].assign(pieces * cells[k], A::ZERO);
  }
  const auto work = [&](Int piece, Pulse* own) {
    BlockPlan part = plan;
    for (std::size_t k = 0; k < outputs.size(); ++k) if (!copies[k].empty()) part.out[k].data = copies[k].data() + piece * cells[k];
    Int rest = piece;
    for (Int a : cut) {
      part.fix(a, rest % plan.sizes[a]);
      rest /= plan.sizes[a];
    }
    run_blocks<VALUES, MAXIMIZE>(std::move(part), base, factor, own);
  };
  {
    Helpers helpers(std::min(contraction_threads, pieces) - 1, pieces, work);
    for (Int p; (p = helpers.next++) < pieces;) work(p, &pulse);  // if the pulse ends this, the others end after their pieces
  }
  for (std::size_t k = 0; k < outputs.size(); ++k)
    for (std::size_t c = 0; c < copies[k].size(); ++c) outputs[k].data[c % cells[k]] = A::plus(outputs[k].data[c % cells[k]], copies[k][c]);
}

inline void contract(const std::vector<Int>& axes, const std::vector<Int>& cards, const std::vector<Operand>& inputs,
                     const std::vector<Operand>& outputs, double factor, bool logs, bool maximize, Pulse& pulse) {
  const auto run = logs ? maximize ? contract_blocks<Values::logs, true> : contract_blocks<Values::logs, false>
                        : maximize ? contract_blocks<Values::numbers, true> : contract_blocks<Values::numbers, false>;
  run(axes, cards, inputs, outputs, factor, pulse);
}

// Set the cells of `output` that get a positive sum to 1; no input may be in logs.
inline void contract_support(const std::vector<Int>& axes, const std::vector<Int>& cards, const std::vector<Operand>& inputs,
                             const Operand& output, Pulse& pulse) {
  contract_blocks<Values::support, true>(axes, cards, inputs, {output}, 1.0, pulse);
}

}  // namespace cp::inference
