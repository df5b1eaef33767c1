#include "base/binding.hpp"
#include "learn/faces/average.hpp"
#include "learn/faces/gains.hpp"
#include "learn/faces/tables.hpp"

namespace cp {

using namespace faces;

static const Area area(
    "faces",
    {
        structure<GroupedRows>("GroupedRows"),
        structure<FaceStore>("FaceStore"),
        structure<FaceLayers>("FaceLayers"),
        function<fill_tables>("fill_tables", "faces first stop rows cards[rows.n] prior[] outliers"),
        function<gains>("gains", "faces candidates[k] rows cards[rows.n] proba[,rows.m] present[faces.f] out[k]"),
        function<add_face>("add_face", "faces face rows cards[rows.n] log_odds[,rows.m]"),
        function<normalize>("normalize", "log_odds[c,rows.m] rows out[c,rows.m]"),
        function<average>("average", "layers prior[c] codes[layers.n,m] out[m,c]"),
    });

}  // namespace cp
