// CBase_X of a chare with three to nine bases. C++17: reached from charm++.h.
#pragma once
#include "runtime/api/objects.h"

namespace periapt {
template <class Proxy, class First, class... Others>
struct CBaseOf : public First, public Others... {
  CBaseOf() : thisProxy(static_cast<First*>(this)) {}
  explicit CBaseOf(CkMigrateMessage* m) : First(m), Others(m)..., thisProxy(static_cast<First*>(this)) {}
  void parent_pup(PUP::er& p) {
    pup_base<First>(this, p);
    (pup_base<Others>(this, p), ...);
  }
  PERIAPT_CBASE_MEMBERS
};
}  // namespace periapt

template <class B1, class B2, class B3, class Proxy>
using CBaseT3 = periapt::CBaseOf<Proxy, B1, B2, B3>;
template <class B1, class B2, class B3, class B4, class Proxy>
using CBaseT4 = periapt::CBaseOf<Proxy, B1, B2, B3, B4>;
template <class B1, class B2, class B3, class B4, class B5, class Proxy>
using CBaseT5 = periapt::CBaseOf<Proxy, B1, B2, B3, B4, B5>;
template <class B1, class B2, class B3, class B4, class B5, class B6, class Proxy>
using CBaseT6 = periapt::CBaseOf<Proxy, B1, B2, B3, B4, B5, B6>;
template <class B1, class B2, class B3, class B4, class B5, class B6, class B7, class Proxy>
using CBaseT7 = periapt::CBaseOf<Proxy, B1, B2, B3, B4, B5, B6, B7>;
template <class B1, class B2, class B3, class B4, class B5, class B6, class B7, class B8, class Proxy>
using CBaseT8 = periapt::CBaseOf<Proxy, B1, B2, B3, B4, B5, B6, B7, B8>;
template <class B1, class B2, class B3, class B4, class B5, class B6, class B7, class B8, class B9, class Proxy>
using CBaseT9 = periapt::CBaseOf<Proxy, B1, B2, B3, B4, B5, B6, B7, B8, B9>;
