// Load databases from seeds, for tests: a failure prints the seed that makes the database again.
#pragma once
#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

struct Kind {
  bool equal_speeds = true, all_available = true, all_migratable = true, background = false;
  bool communication = false, positions = false, phases = false;
};
inline constexpr Kind kinds[] = {{},
                                 {true, true, true, true},
                                 {true, true, false, true},
                                 {true, false, true, true},
                                 {true, false, false, true},
                                 {false, true, true, true},
                                 {false, false, false, true},
                                 {true, true, true, false, true, true},
                                 {false, false, false, true, true, true, true}};

inline LoadDatabase random_database(unsigned seed, Kind kind) {
  std::mt19937 random(seed);
  auto number = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
  auto real = [&] { return std::uniform_real_distribution<double>(0, 1)(random); };
  LoadDatabase db;
  db.step = seed;
  const int pes = number(1, 24), objects = number(0, 12 * pes), shape = number(0, 3);
  for (int pe = 0; pe < pes; ++pe) {
    PeLoad load;
    load.wall = 10;
    if (kind.background) load.background = real();
    if (!kind.equal_speeds) load.speed = 0.5 + real();
    if (!kind.all_available) load.available = number(0, 4) > 0;
    db.pes.push_back(load);
  }
  if (std::none_of(db.pes.begin(), db.pes.end(), [](const PeLoad& pe) { return pe.available; }))
    db.pes[0].available = true;
  for (int i = 0; i < objects; ++i) {
    ObjectLoad object;
    object.array = 1;
    object.element = i;
    object.pe = shape == 0 ? 0 : shape == 1 ? i % pes : number(0, pes - 1);
    object.seconds = shape == 3 ? std::exp(4 * real()) / 50 : real();  // few large, many small
    if (!kind.all_migratable) object.migratable = number(0, 3) > 0;
    db.objects.push_back(object);
  }
  for (int i = 0; kind.positions && i < objects; ++i) {
    db.positions.emplace_back();
    if (number(0, 9) > 0)
      db.positions.back() = {static_cast<float>(real()), static_cast<float>(real()), static_cast<float>(real())};
  }
  // To other objects, to itself, and to what is no object.
  for (int i = 0; kind.communication && i < 4 * objects; ++i)
    db.communication.push_back({{1, static_cast<std::uint64_t>(number(0, objects - 1))},
                                {number(0, 9) > 0 ? 1 : 7, static_cast<std::uint64_t>(number(0, objects))},
                                static_cast<std::uint64_t>(number(0, 20)),
                                static_cast<std::uint64_t>(number(0, 5000))});
  for (int i = 0; kind.phases && i < objects; ++i) {
    const float first = static_cast<float>(real());
    db.phases.push_back({{first, i % 3 == 0 ? 1 - first : 0, i % 3 == 0 ? 0 : 1 - first}});
  }
  return db;
}

}  // namespace periapt::loadbalance
