// One test for all particles at once: who is separated, and how much a test would tell.
//
// `edges` (n, n, particle words) holds for each pair of variables the set of particles with that edge;
// bit p of word p / 64 is particle p. `reach` follows all graphs together, 64 particles a word.
// Particles of one class, those that agree on all executed tests, are consecutive, class c from
// bounds[c] to bounds[c + 1].
#pragma once
#include "base/pulse.hpp"
#include "graphs/bits.hpp"

namespace cp::learn_independence {

// Fill `edges` from graphs (particles, n, words).
inline void spread_edges(View<const Word, 3> graphs, View<Word, 3> edges) {
  edges.fill(0);
  for (Int p = 0; p < graphs.shape(0); ++p)
    for (Int u = 0; u < graphs.shape(1); ++u)
      graphs::for_each_bit(graphs[p][u], [&](Int v) { edges(u, v, p >> 6) |= graphs::bit(p); });
}

// Fill `reached` (n, particle words): the particles in which `start` reaches each variable. `waiting` is scratch.
inline void reach(View<const Word, 3> edges, Words given, Int start, Matrix<Word> reached, Vector<bool> waiting) {
  const Int n = reached.shape(0), words = reached.shape(1);
  reached.fill(0);
  waiting.fill(false);
  reached[start].fill(~Word(0));
  waiting[start] = true;
  for (bool more = true; more;) {
    more = false;
    for (Int u = 0; u < n; ++u) {
      if (!waiting[u]) continue;
      waiting[u] = false;
      const Word* const from = reached[u].data;
      for (Int v = 0; v < n; ++v) {
        if (v == u || graphs::has(given, v)) continue;
        Word* const to = reached[v].data;
        const Word* const edge = edges[u][v].data;
        Word fresh = 0;
        for (Int k = 0; k < words; ++k) {
          const Word here = from[k] & edge[k] & ~to[k];
          to[k] |= here;
          fresh |= here;
        }
        if (fresh != 0) waiting[v] = more = true;
      }
    }
  }
}

// Fill `met` (questions, particle words): the particles that join the ends of each question.
inline void answer(View<const Word, 3> edges, Matrix<const Int> pairs, Matrix<const Word> given, Matrix<Word> met) {
  const Int n = edges.shape(0), words = edges.shape(2);
  Array<Word, 2> reached(n, words);
  Array<bool, 1> waiting(n);
  Pulse pulse;
  for (Int q = 0; q < pairs.shape(0); ++q) {
    pulse(n * n * words);
    reach(edges, given[q], pairs(q, 0), reached, waiting);
    met[q].copy_from(reached[pairs(q, 1)]);
  }
}

// The information of a test in bits: Σ n_c/N · H(share of class c that says independent).
//
// `met` are the particles in which the ends meet, `x_log_x` of 0 … N to base 2.
inline double gain(Words met, Ints bounds, Floats x_log_x) {
  double bits = 0.0;
  for (Int c = 0; c + 1 < bounds.size(); ++c) {
    const Int low = bounds[c], high = bounds[c + 1], size = high - low;
    if (size == 1) continue;
    Int n_met = 0;
    for (Int k = low >> 6; k <= (high - 1) >> 6; ++k) {
      Word word = met[k];
      if (k == low >> 6) word &= ~Word(0) << (low & 63);
      if (k == high >> 6) word &= graphs::bit(high) - 1;
      n_met += popcount(word);
    }
    bits += x_log_x[size] - x_log_x[n_met] - x_log_x[size - n_met];
  }
  return bits / double(bounds.back());
}

}  // namespace cp::learn_independence
