// A plug-in for NCCL, loaded as NCCL does, and the table of one version of its interface behind one face for all.
#pragma once

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "machine/nccl-net/declarations.h"

namespace periapt::nccl_net {

class Table {
 public:
  /// Of the library at that path; a table that is not there ends the process.
  Table(const char* library, int version) {
    void* const loaded = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const std::string name = "ncclNetPlugin_v" + std::to_string(version);
    const void* const found = loaded != nullptr ? ::dlsym(loaded, name.c_str()) : nullptr;
    if (found == nullptr) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), ::dlerror());
      std::exit(1);
    }
    if (version == 8) take_v8(*static_cast<const TableV8*>(found));
    if (version == 9) take_v9(*static_cast<const TableV9*>(found));
    if (version == 10) take_v10(*static_cast<const TableV10*>(found));
    if (version == 11) take_v11<TableV11, PropertiesV11>(*static_cast<const TableV11*>(found));
    if (version == 12) take_v11<TableV12, PropertiesV12>(*static_cast<const TableV12*>(found));
  }
  Table(const Table&) = delete;

  struct Properties {
    std::string name;
    int pointers, speed, most_receives;
    std::size_t most_bytes;
  };
  std::function<Answer(Logger)> init;
  std::function<Answer(int*)> devices;
  std::function<Answer(int, Properties*)> properties;
  std::function<Answer(int, void*, void**)> listen, connect;
  std::function<Answer(void*, void*, std::size_t, int, void*, void**)> send;
  std::function<Answer(void*, const std::vector<void*>&, const std::vector<std::size_t>&, const std::vector<int>&,
                       const std::vector<void*>&, void**)>
      receive;
  Memory memory{};
  Ends ends{};

 private:
  template <class T>
  void take(const T& table) {
    memory = table.memory;
    ends = table.ends;
    devices = table.devices;
  }
  template <class P, class T>
  void take_properties(const T& table) {
    properties = [&table](int device, Properties* out) {
      P found{};
      const Answer answer = table.properties(device, &found);
      if (answer != Answer::success) return answer;
      *out = {found.name, found.pointers, found.speed, found.most_receives, std::size_t{1} << 31};
      if constexpr (requires { found.most_bytes; }) out->most_bytes = found.most_bytes;
      return answer;
    };
  }
  static void** list(const auto& values) { return const_cast<void**>(values.data()); }

  void take_v8(const TableV8& table) {
    take(table);
    take_properties<PropertiesV8>(table);
    init = table.init;
    listen = table.listen;
    connect = [&table](int device, void* handle, void** made) { return table.connect(device, handle, made, nullptr); };
    send = [&table](void* comm, void* bytes, std::size_t size, int tag, void* registered, void** request) {
      return table.send(comm, bytes, static_cast<int>(size), tag, registered, request);
    };
    receive = [&table](void* comm, const auto& rooms, const auto& sizes, auto tags, const auto& registered,
                       void** request) {
      std::vector<int> narrow(sizes.begin(), sizes.end());
      return table.receive(comm, static_cast<int>(rooms.size()), list(rooms), narrow.data(), tags.data(),
                           list(registered), request);
    };
  }
  void take_v9(const TableV9& table) {
    take(table);
    take_properties<PropertiesV9>(table);
    init = table.init;
    listen = table.listen;
    connect = [&table](int device, void* handle, void** made) { return table.connect(device, handle, made, nullptr); };
    send = table.send;
    receive = [&table](void* comm, const auto& rooms, auto sizes, auto tags, const auto& registered, void** request) {
      return table.receive(comm, static_cast<int>(rooms.size()), list(rooms), sizes.data(), tags.data(),
                           list(registered), request);
    };
  }
  template <class T>
  void take_v10_messages(const T& table) {
    send = [&table](void* comm, void* bytes, std::size_t size, int tag, void* registered, void** request) {
      return table.send(comm, bytes, size, tag, registered, nullptr, request);
    };
    receive = [&table](void* comm, const auto& rooms, auto sizes, auto tags, const auto& registered, void** request) {
      return table.receive(comm, static_cast<int>(rooms.size()), list(rooms), sizes.data(), tags.data(),
                           list(registered), nullptr, request);
    };
  }
  void take_v10(const TableV10& table) {
    take(table);
    take_properties<PropertiesV9>(table);
    take_v10_messages(table);
    init = [&table](Logger logger) { return table.init(logger, nullptr); };
    listen = table.listen;
    connect = [&table](int device, void* handle, void** made) {
      CommConfig config{-1};
      return table.connect(device, &config, handle, made, nullptr);
    };
  }
  template <class T, class P>
  void take_v11(const T& table) {
    take(table);
    take_properties<P>(table);
    take_v10_messages(table);
    init = [&table, this](Logger logger) {
      CommConfig config{-1};
      return table.init(&context_, 7, &config, logger, nullptr);
    };
    listen = [&table, this](int device, void* handle, void** made) {
      return table.listen(context_, device, handle, made);
    };
    connect = [&table, this](int device, void* handle, void** made) {
      return table.connect(context_, device, handle, made, nullptr);
    };
  }

  void* context_ = nullptr;
};

}  // namespace periapt::nccl_net
