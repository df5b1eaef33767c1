// Screens of wide tables: pairs, and columns given a family, that bring enough in log-likelihood. Compiled behind bit_sets.cu.
//
// Tables of binary columns and up to 65,535 rows are screened while their counts are in registers; others from the counts in memory.

#if __CUDA_ARCH__ >= 800
// Counts start at the bits of 2^23 as a float, so that a count of less than 2^23 is a float by one subtraction.
#define START 0x4B000000
#define WAITING 32  // hits of a warp and tile that are judged exactly; more are listed unjudged

__device__ __forceinline__ float number_of(int sum) { return __int_as_float(sum) - 8388608.0f; }

__device__ __forceinline__ void list_pair(u64 left, u64 right, int room, u64* pairs, int* n_pairs) {
  const int place = atomicAdd(n_pairs, 1);
  if (place < room) pairs[place] = left << 32 | right;
}

// Counts of 128 sets of A, from `row` on, with the sets from … to − 1 of B, 128 of them at a time.
//
// use(sums, column) gets what a warp has of a tile: 64 rows in four fragments, and 32 columns from `column` on. The sets of A stay
// where they are if they are of at most 1,024 rows.
template <class Use>
__device__ void count_tiles(const u32* A, const u32* B, i64 m, i64 n, int width, i64 row, i64 from, i64 to, Use use) {
  __shared__ __align__(16) u32 a_room[2][128][PITCH];
  __shared__ __align__(16) u32 b_room[2][128][PITCH];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const int down = warp % 2 * 64, right = warp / 2 * 32;
  const int quarter = (threadIdx.x & 3) * 4, first = threadIdx.x >> 2;  // each thread copies a quarter of two rows
  const u32* a_from[2];
  for (int k = 0; k < 2; ++k) a_from[k] = A + min(row + first + 64 * k, m - 1) * width + quarter;
  const auto load = [&](int buffer, i64 column, int word, bool with_a) {
    for (int k = 0; k < 2; ++k) {
      if (with_a) copy_async(&a_room[buffer][first + 64 * k][quarter], a_from[k] + word);
      copy_async(&b_room[buffer][first + 64 * k][quarter], B + min(column + first + 64 * k, n - 1) * width + quarter + word);
    }
    asm volatile("cp.async.commit_group;");
  };
  int buffer = 0, copied = 1;  // stages copied so far, up to 2
  load(0, from, 0, true);
  for (i64 column = from; column < to; column += 128) {
    int sums[4][4][4];
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 4; ++k) sums[i][j][k] = START;
    for (int word = 0; word < width; word += STAGE, buffer ^= 1) {
      asm volatile("cp.async.wait_group 0;");
      __syncthreads();
      const bool last = word + STAGE >= width;
      if (!last || column + 128 < to) {
        load(buffer ^ 1, last ? column + 128 : column, last ? 0 : word + STAGE, width > 2 * STAGE || copied < 2);
        copied = 2;
      }
      for (int k = 0; k < STAGE; k += 8) {
        u32 b[2][4];
        for (int j = 0; j < 2; ++j)
          load_matrices(b[j], &b_room[buffer][right + j * 16 + (lane >> 4) * 8 + (lane & 7)][k + (lane >> 3 & 1) * 4]);
        for (int i = 0; i < 4; ++i) {
          u32 a[4];
          load_matrices(a, &a_room[buffer][down + i * 16 + (lane & 15)][k + (lane >> 4) * 4]);
          for (int j = 0; j < 4; ++j) multiply(sums[i][j], a, b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
        }
      }
    }
    use(sums, column + right);
  }
}

// The pairs of binary columns, left before right, whose log-likelihood ratio is above `least`.
//
// χ² = N (D s_i s_j)² with the deviation D from independence. left has a column's share of rows in state 0, and s; right has its
// number of such rows, and what |D| s_i must be above before the pair is judged. terms[c] = c ln c, of 0 … total. left and right are
// filled up to whole tiles.
extern "C" __global__ void __launch_bounds__(256, 2)
strong_binary_pairs(const u32* A, const u32* B, int m, int n, int width, i64 left_at, i64 right_at, int chunk, const float2* left, const float2* right,
                    const int* left_ones, const int* right_ones, int total, double least, const double* terms, int room, u64* pairs, int* n_pairs) {
  const i64 row = (i64)blockIdx.y * 128, from = (i64)blockIdx.x * chunk, to = min(from + chunk, (i64)n);
  if (left_at + row >= right_at + to) return;
  __shared__ float2 row_scales[128];
  __shared__ u32 waiting[8][WAITING];  // row, column and count of a hit
  __shared__ int n_waiting[8];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, down = warp % 2 * 64;
  if (threadIdx.x < 128) row_scales[threadIdx.x] = left[row + threadIdx.x];
  if (lane == 0) n_waiting[warp] = 0;
  __syncthreads();
  const int first_row = (int)(row + down), first_left = (int)left_at + first_row;
  count_tiles(A, B, m, n, width, row, from, to, [&](const int (&sums)[4][4][4], i64 column) {
    const int first_right = (int)(right_at + column);
    if (first_left >= first_right + 32) return;
    const auto push = [&](int y, int x, int sum) {
      const int place = atomicAdd(&n_waiting[warp], 1);
      if (place < WAITING) waiting[warp][place] = (u32)(y << 5 | x) << 16 | (u32)(sum - START);
      else if (first_left + y < first_right + x) list_pair(first_left + y, first_right + x, room, pairs, n_pairs);
    };
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int x = j * 8 + (lane & 3) * 2;
      const float4 two = *(const float4*)(right + column + x);  // of two columns
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int y = i * 16 + half * 8 + (lane >> 2), first = sums[i][j][half * 2], second = sums[i][j][half * 2 + 1];
          const float2 scale = row_scales[down + y];
          if (fabsf(number_of(first) - scale.x * two.x) * scale.y > two.y) push(y, x, first);
          if (fabsf(number_of(second) - scale.x * two.z) * scale.y > two.w) push(y, x + 1, second);
        }
    }
    __syncwarp();
    for (int place = lane; place < min(n_waiting[warp], WAITING); place += 32) {
      const int y = (int)(waiting[warp][place] >> 21), x = (int)(waiting[warp][place] >> 16 & 31), both = (int)(waiting[warp][place] & 0xffffu);
      if (first_left + y >= first_right + x) continue;
      const int a = left_ones[first_row + y], b = right_ones[column + x];
      const double ratio = terms[both] + terms[a - both] + terms[b - both] + terms[total - a - b + both] + terms[total] - terms[a] -
                           terms[total - a] - terms[b] - terms[total - b];
      if (ratio > least) list_pair(first_left + y, first_right + x, room, pairs, n_pairs);
    }
    __syncwarp();
    if (lane == 0) n_waiting[warp] = 0;
    __syncwarp();
  });
}

// Where the mask of a configuration of a task stands, the rows with the child in state 0 eight places behind it.
//
// Masks of one configuration are a fragment's first eight rows, so that a thread has all counts of a task and a column.
__device__ __forceinline__ i64 mask_of(i64 task, int configuration, int configurations) {
  const int together = 32 / configurations, place = (int)(task % together);
  return task / together * 64 + (place / 8 * configurations + configuration) * 16 + place % 8;
}

// Masks of families with one or two binary parents, and their sizes. sets has five sets a task: state 0 of the child, then both
// states of each parent. One warp a mask pair.
extern "C" __global__ void family_masks(const u32* words, i64 width, const i64* sets, int n_tasks, int configurations, u32* masks, int* sizes) {
  const i64 warp = ((i64)blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  const int lane = threadIdx.x & 31, configuration = (int)(warp % configurations);
  const i64 task = warp / configurations;
  if (task >= n_tasks) return;
  const i64* of = sets + task * 5;
  const u32* child = words + of[0] * width;
  const u32* one = words + of[1 + (configuration & 1)] * width;
  const u32* other = configurations == 4 ? words + of[3 + (configuration >> 1)] * width : one;
  const i64 at = mask_of(task, configuration, configurations);
  int in_all = 0, in_child = 0;
  for (i64 w = lane; w < width; w += 32) {
    const u32 all = one[w] & other[w], part = all & child[w];
    masks[at * width + w] = all;
    masks[(at + 8) * width + w] = part;
    in_all += __popc(all);
    in_child += __popc(part);
  }
  for (int k = 16; k > 0; k >>= 1) {
    in_all += __shfl_down_sync(0xffffffffu, in_all, k);
    in_child += __shfl_down_sync(0xffffffffu, in_child, k);
  }
  if (lane == 0) sizes[at] = in_all, sizes[at + 8] = in_child;
}

// The (task, binary column) whose log-likelihood ratio within the CONFIGURATIONS of the task's parents is above least[task].
//
// First χ² in single precision, with a slack of a hundredth, which is never below the ratio. terms[c] = c ln c.
template <int CONFIGURATIONS>
__device__ void strong_binary_parents(const u32* masks, const u32* B, int m, int n, int width, i64 right_at, int chunk, const int* sizes,
                                      int n_tasks, const double* least, const double* terms, int room, u64* pairs, int* n_pairs) {
  constexpr int TASKS = 4 / CONFIGURATIONS;  // of a thread
  const i64 row = (i64)blockIdx.y * 128, from = (i64)blockIdx.x * chunk, to = min(from + chunk, (i64)n);
  __shared__ u32 waiting[8][WAITING][CONFIGURATIONS + 1];
  __shared__ int n_waiting[8];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, down = warp % 2 * 64, g = lane >> 2;
  if (lane == 0) n_waiting[warp] = 0;
  float total[4], share[4], weight[4], bar[TASKS];
  for (int i = 0; i < 4; ++i) {
    const i64 at = row + down + i * 16 + g;
    const float all = at < m ? (float)sizes[at] : 0.0f, part = at < m ? (float)sizes[at + 8] : 0.0f;
    const bool varies = part > 0.0f && part < all;
    total[i] = all;
    share[i] = varies ? part / all : 0.0f;
    weight[i] = varies ? all * all / part * (all / (all - part)) : 0.0f;
  }
  const i64 first_task = (row + down) / 64 * (8 * TASKS);
  for (int t = 0; t < TASKS; ++t) {
    const i64 task = first_task + t * 8 + g;
    bar[t] = task < n_tasks ? 0.99f * (float)least[task] : 3e38f;
  }
  __syncthreads();
  count_tiles(masks, B, m, n, width, row, from, to, [&](const int (&sums)[4][4][4], i64 column) {
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int t = 0; t < TASKS; ++t) {
          float chi = 0.0f;
#pragma unroll
          for (int c = 0; c < CONFIGURATIONS; ++c) {
            const int i = t * CONFIGURATIONS + c;
            const float within = number_of(sums[i][j][k]), off = number_of(sums[i][j][k + 2]) - share[i] * within;
            chi += __fdividef(weight[i] * off * off, fmaxf(within * (total[i] - within), 0.5f));
          }
          if (chi > bar[t]) {
            const int place = atomicAdd(&n_waiting[warp], 1), x = j * 8 + (lane & 3) * 2 + k;
            const i64 task = first_task + t * 8 + g;
            if (place < WAITING) {
              for (int c = 0; c < CONFIGURATIONS; ++c) {
                const int i = t * CONFIGURATIONS + c;
                waiting[warp][place][c] = (u32)(sums[i][j][k] - START) | (u32)(sums[i][j][k + 2] - START) << 16;
              }
              waiting[warp][place][CONFIGURATIONS] = (u32)((t * 8 + g) << 8 | x);
            } else if (column + x < n) list_pair(task, right_at + column + x, room, pairs, n_pairs);
          }
        }
    __syncwarp();
    for (int place = lane; place < min(n_waiting[warp], WAITING); place += 32) {
      const u32* hit = waiting[warp][place];
      const int in_group = (int)(hit[CONFIGURATIONS] >> 8);
      const i64 task = first_task + in_group, x = column + (hit[CONFIGURATIONS] & 255);
      if (x >= n) continue;
      double ratio = 0.0;
      for (int c = 0; c < CONFIGURATIONS; ++c) {
        const i64 at = mask_of(task, c, CONFIGURATIONS);
        const int all = sizes[at], part = sizes[at + 8], within = (int)(hit[c] & 0xffffu), both = (int)(hit[c] >> 16);
        ratio += terms[both] + terms[within - both] + terms[part - both] + terms[all - within - part + both] + terms[all] - terms[within] -
                 terms[all - within] - terms[part] - terms[all - part];
      }
      if (ratio > least[task]) list_pair(task, right_at + x, room, pairs, n_pairs);
    }
    __syncwarp();
    if (lane == 0) n_waiting[warp] = 0;
    __syncwarp();
  });
}
extern "C" __global__ void __launch_bounds__(256, 2)
strong_parents_2(const u32* masks, const u32* B, int m, int n, int width, i64 right_at, int chunk, const int* sizes, int n_tasks,
                 const double* least, const double* terms, int room, u64* pairs, int* n_pairs) {
  strong_binary_parents<2>(masks, B, m, n, width, right_at, chunk, sizes, n_tasks, least, terms, room, pairs, n_pairs);
}
extern "C" __global__ void __launch_bounds__(256, 2)
strong_parents_4(const u32* masks, const u32* B, int m, int n, int width, i64 right_at, int chunk, const int* sizes, int n_tasks,
                 const double* least, const double* terms, int room, u64* pairs, int* n_pairs) {
  strong_binary_parents<4>(masks, B, m, n, width, right_at, chunk, sizes, n_tasks, least, terms, room, pairs, n_pairs);
}
#endif

// c ln(c / expected), a term of a log-likelihood ratio.
__device__ double ratio_term(double cell, double expected) { return cell > 0.0 ? cell * log(cell / expected) : 0.0; }

// The pairs (row of A's columns, column of B's columns) whose log-likelihood ratio N · MI is above least[degrees of freedom].
//
// Logarithms are taken of pairs whose χ² is above limit[degrees of freedom] only: without it the ratio cannot be so large.
//
// joint has the counts of all states but the last: column i of one side begins at its[i]. ones has the rows of each such
// state of one side. Pairs with left ≥ right are left out, and pairs beyond `room` are counted, not kept.
extern "C" __global__ void strong_pairs(const int* joint, i64 joint_width, int n_left, int n_right, i64 left_at, i64 right_at,
                                        const int* left_from, const int* right_from, const int* left_ones,
                                        const int* right_ones, double total, const double* limit, const double* least,
                                        int n_limits, int room, int* pairs, int* n_pairs) {
  const int j = blockIdx.x * 32 + threadIdx.x % 32, i = blockIdx.y * 8 + threadIdx.x / 32;
  if (i >= n_left || j >= n_right || left_at + i >= right_at + j) return;
  const int a = left_from[i], r = left_from[i + 1] - a, b = right_from[j], s = right_from[j + 1] - b;
  if (r < 1 || s < 1) return;
  double rest_left = total, rest_right = total;
  for (int x = 0; x < r; ++x) rest_left -= left_ones[a + x];
  for (int y = 0; y < s; ++y) rest_right -= right_ones[b + y];
  const auto sum = [&](auto term) {
    double all = 0.0;
    for (int x = 0; x <= r; ++x) {
      const double n_x = x < r ? (double)left_ones[a + x] : rest_left;
      double left = n_x;
      for (int y = 0; y <= s; ++y) {
        const double n_y = y < s ? (double)right_ones[b + y] : rest_right;
        double cell = left;
        if (y < s && x < r) cell = joint[(a + x) * joint_width + b + y];
        else if (y < s) {
          cell = n_y;
          for (int u = 0; u < r; ++u) cell -= joint[(a + u) * joint_width + b + y];
        }
        left -= cell;
        const double expected = n_x * n_y / total;
        if (expected > 0.0) all += term(cell, expected);
      }
    }
    return all;
  };
  const int d = min(r * s, n_limits - 1);
  if (!(sum([](double cell, double expected) { return (cell - expected) * (cell - expected) / expected; }) > limit[d])) return;
  if (!(sum([](double cell, double expected) { return ratio_term(cell, expected); }) > least[d])) return;
  const int place = atomicAdd(n_pairs, 1);
  if (place < room) pairs[2 * place] = (int)(left_at + i), pairs[2 * place + 1] = (int)(right_at + j);
}

// The same for a column as one more parent of a family: sums over the configurations of its parents; χ² above the least
// ratio, then the ratio itself.
//
// The rows of joint from first[k] on are those of task k: for each configuration, its rows, then its rows with each state of
// the child but the last; sizes has the number of rows of each.
extern "C" __global__ void strong_parents(const int* joint, i64 joint_width, int n_tasks, int n_right, i64 right_at, const i64* first,
                                          const int* states, const i64* sizes, const int* right_from, const double* least,
                                          int n_limits, int room, int* pairs, int* n_pairs) {
  const int j = blockIdx.x * 32 + threadIdx.x % 32, k = blockIdx.y * 8 + threadIdx.x / 32;
  if (k >= n_tasks || j >= n_right) return;
  const int b = right_from[j], s = right_from[j + 1] - b, r = states[k];
  if (s < 1 || s >= n_limits) return;
  const auto sum = [&](auto term) {
    double all = 0.0;
    for (i64 row = first[k]; row < first[k + 1]; row += r) {
      const double total = (double)sizes[row];
      if (total <= 0.0) continue;
      const int* within = joint + row * joint_width + b;
      double n_rest = total;  // of the child's last state
      for (int x = 0; x < r; ++x) {
        const double n_x = x + 1 < r ? (double)sizes[row + 1 + x] : n_rest;
        n_rest -= n_x;
        double left = n_x, m_rest = total;
        for (int y = 0; y <= s; ++y) {
          const double m_y = y < s ? (double)within[y] : m_rest;
          m_rest -= m_y;
          double cell = left;
          if (y < s && x + 1 < r) cell = within[(1 + x) * joint_width + y];
          else if (y < s) {
            cell = m_y;
            for (int u = 1; u < r; ++u) cell -= within[u * joint_width + y];
          }
          left -= cell;
          const double expected = n_x * m_y / total;
          if (expected > 0.0) all += term(cell, expected);
        }
      }
    }
    return all;
  };
  const double bar = least[k * n_limits + s];
  if (!(sum([](double cell, double expected) { return (cell - expected) * (cell - expected) / expected; }) > bar)) return;
  if (!(sum([](double cell, double expected) { return ratio_term(cell, expected); }) > bar)) return;
  const int place = atomicAdd(n_pairs, 1);
  if (place < room) pairs[2 * place] = k, pairs[2 * place + 1] = (int)(right_at + j);
}
