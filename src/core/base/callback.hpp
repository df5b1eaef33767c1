// A Python function without arguments that a kernel may call.
#pragma once

namespace cp {

// The caller of the kernel keeps the function alive. A call takes the GIL; if the function raises, `Interrupted`
// leaves the kernel with the Python exception set, as from a pulse.
struct Callback {
  void* function = nullptr;  // a PyObject
  void operator()() const;   // module.cpp
};

}  // namespace cp
