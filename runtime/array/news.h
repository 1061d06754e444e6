// News of elements for other PEs: what is to be told to one PE goes in one message, however many elements it is about.
//
// The entry that gets them cannot tell one from many: its arguments are items, one behind the other.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "runtime/collective/sender.h"
#include "runtime/registry/runtime_message.h"

namespace periapt {

template <class Item>
class News {
  static_assert(std::is_trivially_copyable_v<Item> && sizeof(Item) <= inline_arguments_max);

 public:
  void add(int to, const Item& item) { items_.push_back({to, item}); }
  bool empty() const { return items_.empty(); }

  // Sends all, those for one PE in the order in which they were added.
  void send(Sender& sender, int entry, int collection) {
    const auto before = [](const Addressed& a, const Addressed& b) { return a.to < b.to; };
    if (!std::is_sorted(items_.begin(), items_.end(), before)) std::stable_sort(items_.begin(), items_.end(), before);
    for (auto first = items_.begin(); first != items_.end();) {
      const auto end = std::upper_bound(first, items_.end(), *first, before);
      send_run(sender, entry, collection, first, end);
      first = end;
    }
    items_.clear();
  }

 private:
  struct Addressed {
    std::int32_t to;
    Item item;
  };
  using Iterator = typename std::vector<Addressed>::const_iterator;

  void send_run(Sender& sender, int entry, int collection, Iterator first, Iterator end) {
    const auto count = static_cast<std::size_t>(end - first);
    if (count == 1) return sender.send(first->to, entry, collection, 0, first->item);
    Message message = Message::make(count * sizeof(Item));
    char* at = static_cast<char*>(message.payload());
    const int to = first->to;
    for (; first != end; ++first, at += sizeof(Item))
      std::memcpy(static_cast<void*>(at), static_cast<const void*>(&first->item), sizeof(Item));
    sender.send(to, runtime_message(std::move(message), entry, static_cast<std::uint32_t>(collection)));
  }

  std::vector<Addressed> items_;
};

// The items of a call.
template <class Item, class Visit>
void for_each_item(const Delivery& call, Visit&& visit) {
  const char* const end = call.end();
  for (const char* at = static_cast<const char*>(call.arguments); at < end; at += sizeof(Item)) {
    Item item;
    std::memcpy(static_cast<void*>(&item), at, sizeof(Item));
    visit(item);
  }
}

}  // namespace periapt
