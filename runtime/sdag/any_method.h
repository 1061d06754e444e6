// A pointer to a method of whichever class declares it. A when may wait for what a base of a base declares in another
// .ci: the translator knows neither, and idx_name() of a CkIndex_X takes methods of the class that declares them alone.
// C++17: reached from sdag.h, which a .def.h includes that has such a when.
#pragma once

#include <type_traits>

namespace periapt::sdag {

/// `std::string` of `const std::string&`, `double*` of `const double*`: idx_name() has its own way to take each.
template <class T>
struct PlainArgument {
  using type = std::decay_t<T>;
};
template <class T>
struct PlainArgument<const T*> {
  using type = T*;
};

template <class... Arguments>
struct AnyMethod {
  template <class...>
  struct List {};
  template <class... Types>
  using Plain = List<typename PlainArgument<Types>::type...>;
  template <class Class, class... Declared>
  using Of = void (Class::*)(Declared...);
  template <class Class, class... Declared,
            class = std::enable_if_t<std::is_same<Plain<Declared...>, Plain<Arguments...>>::value>>
  operator Of<Class, Declared...>() const {
    return nullptr;
  }
};

}  // namespace periapt::sdag
