// A pointer to a method of whichever class declares it. A when may wait for what a base of a base declares in another
// .ci: the translator knows neither, and idx_name() of a CkIndex_X takes methods of the class that declares them alone.
// C++17: reached from sdag.h, which a .def.h includes that has such a when.
#pragma once

namespace periapt::sdag {

template <class... Arguments>
struct AnyMethod {
  template <class Class>
  using Of = void (Class::*)(Arguments...);
  template <class Class>
  operator Of<Class>() const {
    return nullptr;
  }
};

}  // namespace periapt::sdag
