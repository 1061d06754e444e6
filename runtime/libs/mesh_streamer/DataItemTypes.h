// What travels in a stream (NDMeshStreamer.h). C++17: programs include it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "runtime/api/array_index.h"
#include "runtime/pup/stl.h"

// An item for an element of an array.
template <class dtype, class itype>
struct ArrayDataItem {
  itype arrayIndex;
  dtype dataItem;
  void pup(PUP::er& p) {
    p | arrayIndex;
    p | dataItem;
  }
};

namespace periapt::mesh_streamer {
// An item that owns something (vectors, strings) travels packed; others as their bytes.
template <class Item>
constexpr bool owns = !std::is_trivially_destructible<Item>::value;
}  // namespace periapt::mesh_streamer

// What is done with an item, as it has travelled, where it is for; a program may name another function.
template <class dtype, class ClientType>
int defaultMeshStreamerDeliver(char* bytes, void* client) {
  ClientType& receiver = *static_cast<ClientType*>(client);
  if constexpr (periapt::mesh_streamer::owns<dtype>) {
    dtype item;
    PUP::detail::reader unpacker(bytes);
    unpacker | item;
    receiver.process(item);
  } else {
    receiver.process(*reinterpret_cast<dtype*>(bytes));
  }
  return 0;
}

namespace periapt::mesh_streamer {
// How many items are kept for one peer where Charm++ 8.0's constructors say how many bytes and how many items; 0: not
// said.
inline int kept_for_one(int bytes, int items, std::size_t item_bytes) {
  const int fitting = bytes > 0 ? std::max(1, static_cast<int>(bytes / item_bytes)) : 0;
  return fitting > 0 && items > 0 ? std::min(fitting, items) : std::max(fitting, items);
}
}  // namespace periapt::mesh_streamer

// The types of an ArrayMeshStreamer, and how the index that an item is for travels.
namespace periapt::mesh_streamer {
template <class... Types>
struct ArrayStream {
  static_assert(sizeof...(Types) == 0, "ArrayMeshStreamer<Item, Client, Router> or <Item, Index, Client, Router>");
};
// In the item.
template <class dtype, class itype, class Client, class Router>
struct ArrayStream<dtype, itype, Client, Router> {
  using Item = ArrayDataItem<dtype, itype>;
  using Index = itype;
  using ClientType = Client;
  using RouterType = Router;
  static Item item(const dtype& data, const itype& index) { return {index, data}; }
  static const dtype& data(const Item& item) { return item.dataItem; }
  static CkArrayIndex index(const Item& item, const CkArrayIndex*) { return index_of(item.arrayIndex); }
  static const CkArrayIndex* beside(const CkArrayIndex&) { return nullptr; }
  static CkArrayIndex index_of(const itype& index) {
    if constexpr (std::is_integral<itype>::value) {
      return CkArrayIndex1D(static_cast<int>(index));
    } else {
      return index;
    }
  }
};
// Beside it, as Charm++ 8.0 has it.
template <class dtype, class Client, class Router>
struct ArrayStream<dtype, Client, Router> {
  using Item = dtype;
  using Index = CkArrayIndex;
  using ClientType = Client;
  using RouterType = Router;
  static const Item& item(const dtype& data, const CkArrayIndex&) { return data; }
  static const dtype& data(const Item& item) { return item; }
  static CkArrayIndex index(const Item&, const CkArrayIndex* beside) { return *beside; }
  static const CkArrayIndex* beside(const CkArrayIndex& index) { return &index; }
  static CkArrayIndex index_of(const CkArrayIndex& index) { return index; }
};
template <class... Types>
using ItemOf = typename ArrayStream<Types...>::Item;
template <class... Types>
using RouterOf = typename ArrayStream<Types...>::RouterType;
}  // namespace periapt::mesh_streamer
