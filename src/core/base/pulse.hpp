// Interruption of long kernels: Ctrl-C and time limits work inside a single large table too.
//
// A kernel runs without the GIL. It owns a Pulse and reports units of work to it, each about a nanosecond
// or more; every .05 s the pulse takes the GIL, lets Python handle signals and calls the thread's watcher
// (progress.Control). If the watcher raises, `Interrupted` leaves the kernel with the Python exception set:
// so call a pulse only where a half-done result is never read afterwards.
#pragma once
#include "base/view.hpp"

namespace cp {

struct Interrupted {};

void look_up();  // module.cpp: returns at once within .05 s of the last time

class Pulse {
 public:
  void operator()(Int work = 1) {
    if ((left_ -= work) <= 0) {
      left_ = INTERVAL;
      look_up();
    }
  }

 private:
  static constexpr Int INTERVAL = 1 << 20;
  Int left_ = INTERVAL;
};

}  // namespace cp
