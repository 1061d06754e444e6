// See explain.h.
#include "runtime/loadbalance/explain.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "runtime/loadbalance/model.h"

namespace periapt::loadbalance {

namespace {
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  char line[400];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  return line;
}

std::string why_nothing(const Decision& d, const Balance& now) {
  if (!d.strategy) return "there is no balancer: +balancer NAME takes one";
  if (d.database.objects.empty()) return "no object takes part";
  const auto movable = std::count_if(d.database.objects.begin(), d.database.objects.end(),
                                     [](const ObjectLoad& object) { return object.migratable; });
  if (movable == 0) return "no object may migrate";
  if (d.database.pes.size() == 1) return "there is one PE";
  const double bound = lower_bound(d.database);
  if (bound > 0 && now.max <= 1.001 * bound) return text("nothing can make the fullest PE emptier than %.4f s", bound);
  return text("%s takes max/avg %.3f for good enough, or finds nothing better", d.strategy->info->title(), now.ratio());
}

// The largest that move, from where to where, and how full both were.
std::string largest_moves(const Decision& d) {
  const std::vector<double> before = pe_loads(d.database, present(d.database));
  const Balance now = balance_of(d.database, present(d.database));
  std::vector<std::size_t> moved;
  for (std::size_t i = 0; i < d.assignment.size(); ++i)
    if (d.assignment[i] != d.database.objects[i].pe) moved.push_back(i);
  const std::size_t shown = std::min<std::size_t>(moved.size(), 5);
  std::partial_sort(moved.begin(), moved.begin() + static_cast<std::ptrdiff_t>(shown), moved.end(),
                    [&](std::size_t a, std::size_t b) {
                      return std::pair(-d.database.objects[a].seconds, a) <
                             std::pair(-d.database.objects[b].seconds, b);
                    });
  std::string lines;
  auto fullness = [&](int pe) { return now.average > 0 ? before[pe] / now.average : 1; };
  for (std::size_t k = 0; k < shown; ++k) {
    const ObjectLoad& object = d.database.objects[moved[k]];
    const int to = d.assignment[moved[k]];
    const std::string name =
        d.name ? d.name(object)
               : text("element %llu of array %d", static_cast<unsigned long long>(object.element), object.array);
    lines += text("    %s, %.4f s: PE %d (%.2f of the average) -> PE %d (%.2f)\n", name.c_str(), object.seconds,
                  object.pe, fullness(object.pe), to, fullness(to));
  }
  if (moved.size() > shown) lines += text("    and %zu smaller ones\n", moved.size() - shown);
  return lines;
}

// What it costs against what it saves.
std::string worth(const Decision& d, const Balance& now, const Balance& then) {
  const double saved = now.max - then.max;
  if (saved <= 1e-4 * now.max) return "  worth it:  no: the fullest PE does not get emptier\n";
  std::string line = text("  worth it:  saves %.4f s an interval", saved);
  if (d.moved_before == 0) return line + "; what moving costs is not known yet\n";
  const double cost = d.seconds + d.moved_seconds / d.moved_before * then.migrations;
  return line +
         text(" and costs about %.4f s (moving took %.4f s for %d the last time): won back after %.1f intervals\n",
              cost, d.moved_seconds, d.moved_before, cost / saved);
}
}  // namespace

std::string explain(const Decision& d) {
  const Balance now = balance_of(d.database, present(d.database)), then = balance_of(d.database, d.assignment);
  std::string lines =
      text("LB step %u, %s: %zu objects on %zu PEs\n", d.database.step,
           d.strategy ? d.strategy->info->title() : "no balancer", d.database.objects.size(), d.database.pes.size());
  // (Sums over loads that are none say nothing.)
  if (!d.refused.empty()) return lines + "  nothing is moved: " + d.refused + "\n";
  lines += text("  before:    fullest PE %.4f s, max/avg %.3f", now.max, now.ratio());
  if (d.predicted_before > 0) lines += text(" (step %u had predicted %.3f)", d.database.step - 1, d.predicted_before);
  lines += "\n";
  if (then.migrations == 0) return lines + "  nothing is moved: " + why_nothing(d, now) + "\n";
  lines += text("  predicted: fullest PE %.4f s, max/avg %.3f; nothing can get below %.4f s\n", then.max, then.ratio(),
                lower_bound(d.database));
  lines += text("  decided:   in %.2f ms, %d of %zu objects move\n", 1e3 * d.seconds, then.migrations,
                d.database.objects.size());
  return lines + largest_moves(d) + worth(d, now, then);
}

}  // namespace periapt::loadbalance
