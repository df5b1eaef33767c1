#include "base/binding.hpp"
#include "learn/classifiers/ridge.hpp"
#include "learn/classifiers/class_likelihood.hpp"
#include "learn/classifiers/face_average.hpp"
#include "learn/classifiers/face_gains.hpp"
#include "learn/classifiers/face_tables.hpp"
#include "learn/classifiers/leave_one_out.hpp"
#include "learn/classifiers/normal_scores.hpp"
#include "learn/classifiers/ridge_solver.hpp"
#include "learn/classifiers/score_statistic.hpp"

using namespace cp;
using namespace cp::classifiers;

static const Area area("classifiers", {
    KERNEL_BY_CODE(fill_posterior, "codes[n,m] weights[m] cards[n] prior parents[n,2] out[m,]"),
    KERNEL_BY_CODE(best_move, "codes[n,m] weights[m] cards[n] prior parents[n,2] above[n,n] posterior[m,] child max_cells tie move[2]"),
    CONSTANT(ADD),
    CONSTANT(DROP),
    CONSTANT(TURN),

    TUPLE(GroupedRows),
    TUPLE(FaceStore),
    TUPLE(FaceLayers),
    KERNEL(fill_tables, "faces first stop rows cards[rows.n] prior[] outliers"),
    KERNEL(gains, "faces candidates[k] rows cards[rows.n] proba[,rows.m] present[faces.f] out[k]"),
    KERNEL(add_face, "faces face rows cards[rows.n] log_odds[,rows.m]"),
    KERNEL(normalize, "log_odds[c,rows.m] rows out[c,rows.m]"),
    KERNEL(average, "layers prior[c] codes[layers.n,m] out[m,c]"),

    TUPLE(BlockDesign),
    TUPLE(StepPairs),
    TUPLE(LabeledRows),
    TUPLE(BackOffFaces),
    KERNEL(exponentials, "x[n] scratch[n]"),
    KERNEL(logarithms, "x[n] scratch[n]"),
    KERNEL(normal_scores, "probabilities[]"),
    KERNEL(number_keys, "keys[n] known[] ids[n] firsts[]"),
    KERNEL(evaluate, "design labels[n] row_weights[n] prior[] penalty[features] w[size] gradient[size]"),
    KERNEL(predict_rows, "design prior[columns] w[] row_from out[columns,]"),
    KERNEL(turn_to, "memory penalty[memory.features]"),
    KERNEL(minimize, "design labels[n] row_weights[n] prior[] penalty[memory.features] metric[memory.features] memory w[memory.size] tolerance max_steps"),
    KERNEL(count_places, "rows columns[width] cards[width] counts[,] index[] origins[]"),
    KERNEL(back_off, "faces face order counts[,faces.classes] unit"),
    KERNEL(log_likelihoods, "rows others[,rows.m] faces candidates[t] present[faces.f] out[t]"),
    KERNEL(join, "rows faces face present[faces.f] others[,rows.m]"),
    KERNEL(score_faces, "codes[,m] residuals[c,m] variances[c,m] columns[t,k] cards[t,k] free[t] n_classes out[t]"),
    CONSTANT(CHUNK),
});
