#include "base/binding.hpp"
#include "learn/interactions/block_design.hpp"
#include "learn/interactions/leave_one_out.hpp"
#include "learn/interactions/normal_scores.hpp"
#include "learn/interactions/ridge.hpp"
#include "learn/interactions/score_statistic.hpp"
#include "learn/interactions/solver.hpp"

namespace cp {

using namespace interactions;

static const Area area(
    "interactions",
    {
        structure<BlockDesign>("BlockDesign"),
        structure<StepPairs>("StepPairs"),
        structure<LabeledRows>("LabeledRows"),
        structure<BackOffFaces>("BackOffFaces"),
        function<exponentials>("exponentials", "x[n] scratch[n]"),
        function<logarithms>("logarithms", "x[n] scratch[n]"),
        function<normal_scores>("normal_scores", "probabilities[]"),
        function<number_keys>("number_keys", "keys[n] known[] ids[n] firsts[]"),
        function<evaluate>("evaluate", "design labels[n] row_weights[n] prior[] penalty[features] w[size] gradient[size]"),
        function<predict_rows>("predict_rows", "design prior[columns] w[] row_from out[columns,]"),
        function<turn_to>("turn_to", "memory penalty[memory.features]"),
        function<minimize>("minimize",
                           "design labels[n] row_weights[n] prior[] penalty[memory.features] metric[memory.features] memory "
                           "w[memory.size] tolerance max_steps"),
        function<count_places>("count_places", "rows columns[width] cards[width] counts[,] index[] origins[]"),
        function<back_off>("back_off", "faces face order counts[,faces.classes] unit"),
        function<log_likelihoods>("log_likelihoods", "rows others[,rows.m] faces candidates[t] present[faces.f] out[t]"),
        function<join>("join", "rows faces face present[faces.f] others[,rows.m]"),
        function<score_faces>("score_faces",
                              "codes[,m] residuals[c,m] variances[c,m] columns[t,k] cards[t,k] free[t] n_classes out[t]"),
        constant("CHUNK", CHUNK),
    });

}  // namespace cp
