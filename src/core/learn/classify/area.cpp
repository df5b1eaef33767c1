#include "base/binding.hpp"
#include "learn/classify/conditional.hpp"

namespace cp {

using namespace classify;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

static const Area area(
    "classify",
    {
        function<fill_posterior<u8>, fill_posterior<u16>, fill_posterior<u32>>("fill_posterior", "codes[n,m] weights[m] cards[n] prior parents[n,2] out[m,]"),
        function<best_move<u8>, best_move<u16>, best_move<u32>>(
            "best_move", "codes[n,m] weights[m] cards[n] prior parents[n,2] above[n,n] posterior[m,] child max_cells tie move[2]"),
        constant("ADD", ADD),
        constant("DELETE", DELETE),
        constant("REVERSE", REVERSE),
    });

}  // namespace cp
