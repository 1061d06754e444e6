// charm++_type_traits.h: charmxx::is_array_proxy<T> and the like.
#pragma once
#include "charm++.h"
#include "runtime/api/type_traits.h"
