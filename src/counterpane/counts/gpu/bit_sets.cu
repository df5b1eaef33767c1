// Bit sets on a card: packing, intersections, counts of cells, and the bit product C[i, j] = |A_i ∩ B_j|.
//
// A bit set is a row of `width` words of 32 bits; width is a multiple of 16, and rows are aligned to 16 bytes.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// Words of one stage of a product, and the distance of two rows of a stage: 20 words keep the banks of `ldmatrix` apart.
#define STAGE 16
#define PITCH 20

// Pack codes[column, row] into sets: states 0 … cards[column] − 2 of a column have the sets from first[column] on, and its
// last one has the set last[column]. One thread a row.
template <class Code>
__device__ void pack(const Code* codes, i64 n_rows, const i64* first, const i64* last, const int* cards, i64 width, u32* words) {
  const i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const int column = blockIdx.y, card = cards[column];
  const u32 code = row < n_rows ? (u32)codes[column * n_rows + row] : 0xffffffffu;
  const bool writes = (threadIdx.x & 31) == 0 && row < width * 32;
  for (int state = 0; state < card; ++state) {
    const u32 set = __ballot_sync(0xffffffffu, code == (u32)state);
    const i64 home = state + 1 < card ? first[column] + state : last[column];
    if (writes) words[home * width + (row >> 5)] = set;
  }
}
extern "C" __global__ void pack_8(const unsigned char* codes, i64 n_rows, const i64* first, const i64* last, const int* cards, i64 width, u32* words) {
  pack(codes, n_rows, first, last, cards, width, words);
}
extern "C" __global__ void pack_16(const unsigned short* codes, i64 n_rows, const i64* first, const i64* last, const int* cards, i64 width, u32* words) {
  pack(codes, n_rows, first, last, cards, width, words);
}

// The set of each column's last state: the rows that are in no set of its others.
extern "C" __global__ void last_states(i64 n_rows, const i64* first, const i64* last, const int* cards, i64 width, u32* words) {
  const i64 word = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  const int column = blockIdx.y;
  if (word >= width) return;
  const i64 rows = n_rows - 32 * word;  // from this word on
  u32 left = rows >= 32 ? 0xffffffffu : rows > 0 ? (1u << rows) - 1u : 0u;
  for (int state = 0; state + 1 < cards[column]; ++state) left &= ~words[(first[column] + state) * width + word];
  words[last[column] * width + word] = left;
}

// The sum of `value` over the threads of a block of whole warps, in thread 0.
__device__ u32 block_sum(u32 value) {
  __shared__ u32 sums[32];
  for (int k = 16; k > 0; k >>= 1) value += __shfl_down_sync(0xffffffffu, value, k);
  if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = value;
  __syncthreads();
  if (threadIdx.x < 32) {
    value = threadIdx.x < blockDim.x >> 5 ? sums[threadIdx.x] : 0;
    for (int k = 16; k > 0; k >>= 1) value += __shfl_down_sync(0xffffffffu, value, k);
  }
  return value;
}

// The rows in all sets of[cell, 0 … depth − 1]; totals[cell] gets their number, masks[cell] the set if there is room for it.
extern "C" __global__ void intersect(const u32* words, i64 width, const i64* of, int depth, i64 slice, u32* masks, u64* totals) {
  const i64 cell = blockIdx.x;
  const i64 from = (i64)blockIdx.y * slice, to = min(from + slice, width);
  u32 total = 0;
  for (i64 w = from + 4 * threadIdx.x; w < to; w += 4 * blockDim.x) {
    uint4 set = *(const uint4*)(words + of[cell * depth] * width + w);
    for (int d = 1; d < depth; ++d) {
      const uint4 other = *(const uint4*)(words + of[cell * depth + d] * width + w);
      set.x &= other.x, set.y &= other.y, set.z &= other.z, set.w &= other.w;
    }
    total += __popc(set.x) + __popc(set.y) + __popc(set.z) + __popc(set.w);
    if (masks) *(uint4*)(masks + cell * width + w) = set;
  }
  total = block_sum(total);
  if (threadIdx.x == 0 && total) atomicAdd(totals + cell, (u64)total);
}

#if __CUDA_ARCH__ >= 800
__device__ __forceinline__ void copy_async(u32* to, const u32* from) {
  const u32 address = (u32)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from));
}
// The same, or 16 zeros.
__device__ __forceinline__ void copy_async_until(u32* to, const u32* from, bool inside) {
  const u32 address = (u32)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(inside ? 16 : 0));
}
__device__ __forceinline__ void load_matrices(u32* to, const u32* from) {
  const u32 address = (u32)__cvta_generic_to_shared(from);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(address));
}
__device__ __forceinline__ void multiply(int* c, const u32* a, u32 b0, u32 b1) {
  asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// A block of 8 warps, two of them side by side four times, makes a tile of 128 × 128; a warp has 64 rows and 32 columns of it.
//
// blockIdx.z takes a slice of the words, and slices are added up. With `upper`, tiles below the diagonal are left out.
extern "C" __global__ void __launch_bounds__(256) product_square(const u32* A, const u32* B, i64 m, i64 n, i64 width, i64 slice, int upper, int* C) {
  constexpr int FRAGMENTS = 4, DOWN = 2, ROWS = FRAGMENTS * 16 * DOWN, COLUMNS = 32 * (8 / DOWN), STAGES = 2;
  __shared__ __align__(16) u32 a_room[STAGES][ROWS][PITCH];
  __shared__ __align__(16) u32 b_room[STAGES][COLUMNS][PITCH];
  const i64 row = (i64)blockIdx.y * ROWS, column = (i64)blockIdx.x * COLUMNS;
  if (upper && row >= column + COLUMNS) return;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int down = warp % DOWN * FRAGMENTS * 16, right = warp / DOWN * 32;
  const i64 from = (i64)blockIdx.z * slice, to = min(from + slice, width);
  int sums[FRAGMENTS][4][4] = {};
  const auto load = [&](int stage, i64 word) {
    for (int k = threadIdx.x; k < ROWS * 4; k += 256)
      copy_async(&a_room[stage][k >> 2][(k & 3) * 4], A + min(row + (k >> 2), m - 1) * width + word + (k & 3) * 4);
    for (int k = threadIdx.x; k < COLUMNS * 4; k += 256)
      copy_async(&b_room[stage][k >> 2][(k & 3) * 4], B + min(column + (k >> 2), n - 1) * width + word + (k & 3) * 4);
    asm volatile("cp.async.commit_group;");
  };
  if (from < to) load(0, from);
  int stage = 0;
  for (i64 word = from; word < to; word += STAGE, stage ^= 1) {
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    if (word + STAGE < to) load(stage ^ 1, word + STAGE);
    for (int k = 0; k < STAGE; k += 8) {
      u32 b[2][4];
      for (int j = 0; j < 2; ++j)
        load_matrices(b[j], &b_room[stage][right + j * 16 + (lane >> 4) * 8 + (lane & 7)][k + (lane >> 3 & 1) * 4]);
      for (int i = 0; i < FRAGMENTS; ++i) {
        u32 a[4];
        load_matrices(a, &a_room[stage][down + i * 16 + (lane & 15)][k + (lane >> 4) * 4]);
        for (int j = 0; j < 4; ++j) multiply(sums[i][j], a, b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < FRAGMENTS; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const i64 y = row + down + i * 16 + (lane >> 2) + (k >> 1) * 8, x = column + right + j * 8 + (lane & 3) * 2 + (k & 1);
        if (y >= m || x >= n) continue;
        if (gridDim.z == 1) C[y * n + x] = sums[i][j][k];
        else if (sums[i][j][k]) atomicAdd(C + y * n + x, sums[i][j][k]);
      }
}
// The same for few rows, which takes as long as B is read: stages of 256 bytes a set, because shorter pieces of far-away sets are read at
// half the speed. A tile has 16 rows and 64 columns; two warps share the columns, four the words of a stage.
extern "C" __global__ void __launch_bounds__(256) product_flat(const u32* A, const u32* B, i64 m, i64 n, i64 width, i64 slice, int upper, int* C) {
  constexpr int ROWS = 16, COLUMNS = 64, WORDS = 64, LONG_PITCH = WORDS + 4;
  __shared__ __align__(16) u32 a_room[2][ROWS][LONG_PITCH];
  __shared__ __align__(16) u32 b_room[2][COLUMNS][LONG_PITCH];
  __shared__ int tile[ROWS][COLUMNS];
  const i64 row = (i64)blockIdx.y * ROWS, column = (i64)blockIdx.x * COLUMNS;
  if (upper && row >= column + COLUMNS) return;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, right = (warp & 1) * 32, part = (warp >> 1) * 16;
  const i64 from = (i64)blockIdx.z * slice, to = min(from + slice, width);
  for (int k = threadIdx.x; k < ROWS * COLUMNS; k += 256) tile[k / COLUMNS][k % COLUMNS] = 0;
  int sums[4][4] = {};
  const auto load = [&](int stage, i64 word) {
    for (int k = threadIdx.x; k < (ROWS + COLUMNS) * (WORDS / 4); k += 256) {
      const int set = k / (WORDS / 4), place = k % (WORDS / 4) * 4;
      const bool of_a = set < ROWS;
      const u32* begin = of_a ? A + min(row + set, m - 1) * width : B + min(column + set - ROWS, n - 1) * width;
      copy_async_until(of_a ? &a_room[stage][set][place] : &b_room[stage][set - ROWS][place], begin + word + place, word + place < to);
    }
    asm volatile("cp.async.commit_group;");
  };
  if (from < to) load(0, from);
  int stage = 0;
  for (i64 word = from; word < to; word += WORDS, stage ^= 1) {
    asm volatile("cp.async.wait_group 0;");
    __syncthreads();
    if (word + WORDS < to) load(stage ^ 1, word + WORDS);
    for (int k = part; k < part + 16; k += 8) {
      u32 a[4], b[2][4];
      load_matrices(a, &a_room[stage][lane & 15][k + (lane >> 4) * 4]);
      for (int j = 0; j < 2; ++j)
        load_matrices(b[j], &b_room[stage][right + j * 16 + (lane >> 4) * 8 + (lane & 7)][k + (lane >> 3 & 1) * 4]);
      for (int j = 0; j < 4; ++j) multiply(sums[j], a, b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
    }
  }
  __syncthreads();
  for (int j = 0; j < 4; ++j)
    for (int k = 0; k < 4; ++k)
      if (sums[j][k]) atomicAdd(&tile[(lane >> 2) + (k >> 1) * 8][right + j * 8 + (lane & 3) * 2 + (k & 1)], sums[j][k]);
  __syncthreads();
  for (int k = threadIdx.x; k < ROWS * COLUMNS; k += 256) {
    const i64 y = row + k / COLUMNS, x = column + k % COLUMNS;
    const int count = tile[k / COLUMNS][k % COLUMNS];
    if (y >= m || x >= n) continue;
    if (gridDim.z == 1) C[y * n + x] = count;
    else if (count) atomicAdd(C + y * n + x, count);
  }
}
#endif

// The same by popcounts, for cards without tensor cores that count bits: tiles of 64 × 64, 16 outputs a thread.
extern "C" __global__ void __launch_bounds__(256) product_popcount(const u32* A, const u32* B, i64 m, i64 n, i64 width, i64 slice, int upper, int* C) {
  __shared__ u32 a_room[64][STAGE + 1], b_room[64][STAGE + 1];
  const i64 row = (i64)blockIdx.y * 64, column = (i64)blockIdx.x * 64;
  if (upper && row >= column + 64) return;
  const int ty = threadIdx.x >> 4, tx = threadIdx.x & 15;
  const i64 from = (i64)blockIdx.z * slice, to = min(from + slice, width);
  int sums[4][4] = {};
  for (i64 word = from; word < to; word += STAGE) {
    __syncthreads();
    for (int k = threadIdx.x; k < 64 * STAGE; k += 256) {
      a_room[k / STAGE][k % STAGE] = A[min(row + k / STAGE, m - 1) * width + word + k % STAGE];
      b_room[k / STAGE][k % STAGE] = B[min(column + k / STAGE, n - 1) * width + word + k % STAGE];
    }
    __syncthreads();
    for (int k = 0; k < STAGE; ++k)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums[i][j] += __popc(a_room[ty + 16 * i][k] & b_room[tx + 16 * j][k]);
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const i64 y = row + ty + 16 * i, x = column + tx + 16 * j;
      if (y >= m || x >= n) continue;
      if (gridDim.z == 1) C[y * n + x] = sums[i][j];
      else if (sums[i][j]) atomicAdd(C + y * n + x, sums[i][j]);
    }
}

// Copy what is above the diagonal of a square C below it.
extern "C" __global__ void mirror(i64 n, int* C) {
  const i64 x = (i64)blockIdx.x * 32 + threadIdx.x % 32, y = (i64)blockIdx.y * 32 + threadIdx.x / 32;
  if (x < y && y < n) C[y * n + x] = C[x * n + y];
}

// All states by all states of pairs of columns, from `joint`, which leaves out each last state. Column i of a side begins at kept[i]
// there and at from[i] in `out`; ones counts each of its states.
extern "C" __global__ void spread_pairs(const int* joint, i64 joint_width, int n_left, int n_right, const i64* left_kept, const i64* left_from,
                                        const i64* left_ones, const i64* right_kept, const i64* right_from, const i64* right_ones,
                                        i64 out_width, i64* out) {
  const int j = blockIdx.x * 32 + threadIdx.x % 32, i = blockIdx.y * 8 + threadIdx.x / 32;
  if (i >= n_left || j >= n_right) return;
  const i64 row = left_from[i], column = right_from[j];
  const int r = (int)(left_from[i + 1] - row), c = (int)(right_from[j + 1] - column);
  const int* some = joint + left_kept[i] * joint_width + right_kept[j];
  i64* all = out + row * out_width + column;
  for (int s = 0; s + 1 < r; ++s) {
    i64 rest = left_ones[row + s];
    for (int t = 0; t + 1 < c; ++t) {
      const i64 count = some[s * joint_width + t];
      all[s * out_width + t] = count;
      rest -= count;
    }
    all[s * out_width + c - 1] = rest;
  }
  for (int t = 0; t < c; ++t) {
    i64 rest = right_ones[column + t];
    for (int s = 0; s + 1 < r; ++s) rest -= all[s * out_width + t];
    all[(r - 1) * out_width + t] = rest;
  }
}

// ---- Families: the cells of some columns, and their likelihoods with each further column

// The families of a batch, in one array: cells_from (n + 1), members_from (n + 1), then for each member of a family, the child last,
// its set of state 0, the set of its last state, and its number of states.
struct Families {
  const i64 *cells_from, *members_from, *members;
  __device__ Families(const i64* plan, int n) : cells_from(plan), members_from(plan + n + 1), members(plan + 2 * (n + 1)) {}
};

// masks[cell]: the rows in a cell of a family, its last member fastest; totals[cell] gets their number.
extern "C" __global__ void cells_of_families(const u32* words, i64 width, const i64* plan, int n, i64 slice, u32* masks, u64* totals) {
  __shared__ i64 of[64];
  __shared__ int depth;
  const Families families(plan, n);
  const i64 cell = blockIdx.x;
  if (threadIdx.x == 0) {
    int low = 0, high = n - 1;  // the last family that begins at the cell or before
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (families.cells_from[middle] <= cell) low = middle;
      else high = middle - 1;
    }
    depth = (int)(families.members_from[low + 1] - families.members_from[low]);
    i64 left = cell - families.cells_from[low];
    for (int d = depth - 1; d >= 0; --d) {
      const i64* member = families.members + 3 * (families.members_from[low] + d);
      const i64 state = left % member[2];
      left /= member[2];
      of[d] = state + 1 < member[2] ? member[0] + state : member[1];
    }
  }
  __syncthreads();
  const i64 from = (i64)blockIdx.y * slice, to = min(from + slice, width);
  u32 total = 0;
  for (i64 w = from + 4 * threadIdx.x; w < to; w += 4 * blockDim.x) {
    uint4 set = *(const uint4*)(words + of[0] * width + w);
    for (int d = 1; d < depth; ++d) {
      const uint4 other = *(const uint4*)(words + of[d] * width + w);
      set.x &= other.x, set.y &= other.y, set.z &= other.z, set.w &= other.w;
    }
    total += __popc(set.x) + __popc(set.y) + __popc(set.z) + __popc(set.w);
    *(uint4*)(masks + cell * width + w) = set;
  }
  total = block_sum(total);
  if (threadIdx.x == 0 && total) atomicAdd(totals + cell, (u64)total);
}

// Σ N_jk ln(N_jk / N_j) of a family of q configurations and R states of the child with a column of KEPT + 1 states more. The host adds
// the same terms in the same order, so that sums are equal to the last bit. 0: known at run time only.
template <int R, int KEPT>
__device__ double likelihood(const int* __restrict__ counts, i64 pitch, const u64* __restrict__ totals, i64 q, int r, int kept,
                             const double* __restrict__ logs) {
  if (R) r = R;
  if (KEPT) kept = KEPT;
  double sum = 0.0;
#pragma unroll 4
  for (i64 p = 0; p < q; ++p) {
    const int* here = counts + p * r * pitch;
    for (int y = 0; y < kept; ++y) {
      int row = 0;
      for (int x = 0; x < r; ++x) {
        const int cell = here[x * pitch + y];
        row += cell;
        sum += logs[cell];
      }
      sum -= logs[row];
    }
    int row = 0;
    for (int x = 0; x < r; ++x) {
      int cell = (int)totals[p * r + x];
      for (int y = 0; y < kept; ++y) cell -= here[x * pitch + y];
      row += cell;
      sum += logs[cell];
    }
    sum -= logs[row];
  }
  return sum;
}

// sums[f, v]: the likelihood of family f with column v, whose states but the last begin at first[v] of `counts`. A thread a column.
extern "C" __global__ void likelihoods_of_families(const int* counts, i64 pitch, const u64* totals, const i64* plan, int n, const i64* first,
                                              const int* cards, int n_columns, const double* logs, double* sums) {
  const Families families(plan, n);
  const int v = blockIdx.x * blockDim.x + threadIdx.x, f = blockIdx.y;
  if (v >= n_columns) return;
  const i64 cell = families.cells_from[f], end = families.members_from[f + 1];
  const int r = (int)families.members[3 * end - 1], kept = cards[v] - 1;
  const i64 q = (families.cells_from[f + 1] - cell) / r;
  const int* some = counts + cell * pitch + first[v];
  double sum;
#define FOR_SIZES(R, KEPT) \
  if (r == R && kept == KEPT) sum = likelihood<R, KEPT>(some, pitch, totals + cell, q, r, kept, logs)
  FOR_SIZES(2, 1);
  else FOR_SIZES(2, 2);
  else FOR_SIZES(2, 3);
  else FOR_SIZES(3, 1);
  else FOR_SIZES(3, 2);
  else FOR_SIZES(3, 3);
  else FOR_SIZES(4, 1);
  else FOR_SIZES(4, 2);
  else FOR_SIZES(4, 3);
  else sum = likelihood<0, 0>(some, pitch, totals + cell, q, r, kept, logs);
  sums[(i64)f * n_columns + v] = sum;
}
