// Small questions about entries and parameters that checks and emitters ask alike.
#pragma once

#include <string>
#include <vector>

#include "lang/ci-translator/ast.h"

namespace periapt::ci {

/// A parameter that is a pointer and so has to be a message.
bool isMessagePointer(const Parameter& parameter);
/// The entry takes one message, not marshalled arguments.
bool takesMessage(const Entry& entry);
/// The entry returns one.
bool returnsMessage(const Entry& entry);
/// What the method returns goes back to the caller: [sync], [iget].
bool isAnswered(const Entry& entry);
/// An array that is sent without a copy: nocopy, nocopypost or nocopydevice.
bool isNcpy(const Parameter& parameter);
/// Its elements may be in the memory of a GPU: nocopydevice.
bool isOnDevice(const Parameter& parameter);
/// How many of those an entry has.
int ncpyCount(const Entry& entry);
/// They go to buffers that the receiver's post entry method names.
bool isPosted(const Entry& entry);
/// ... for nocopydevice arrays.
bool isForDevice(const Entry& entry);
/// A type that is cheap to pass by value: built-in, or a well-known scalar name such as std::size_t.
bool isScalar(const Type& type);
/// What travels: `periapt::Conditional<Grid>` of `Grid grid conditional` (runtime/api/conditional_argument.h), which is
/// made of a pointer and becomes one.
Type sentType(const Parameter& parameter);
/// The same as the receiving side holds it: no const, no reference.
std::string heldType(const Parameter& parameter);
/// As the class has it: `Grid*` of `Grid grid conditional`.
Type typeInClass(const Parameter& parameter);
/// The entry as written, without attributes and default values: "void work(int n, const double x[n])".
std::string signature(const Entry& entry);
/// Name and parameter types, spaces squeezed out: equal for entries that C++ cannot tell apart.
std::string overloadKey(const Entry& entry);

/// The entries of a chare, in order.
std::vector<const Entry*> entriesOf(const Chare& chare);

/// Calls visit(item, scope) for every item of the file, outer ones first; scope is "N::M::" of the namespaces around
/// it.
template <class Visit>
void forEachItem(const std::vector<Item>& items, const std::string& scope, const Visit& visit) {
  for (const Item& item : items) {
    visit(item, scope);
    if (auto* module = std::get_if<Module>(&item.node)) forEachItem(module->items, scope, visit);
    if (auto* block = std::get_if<Block>(&item.node)) forEachItem(block->items, scope, visit);
    if (auto* space = std::get_if<Namespace>(&item.node)) forEachItem(space->items, scope + space->name + "::", visit);
  }
}

}  // namespace periapt::ci
