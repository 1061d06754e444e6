// Least squares by damped steps: D. Marquardt, "An algorithm for least-squares estimation of nonlinear parameters",
// 1963. See predictor.h.
#include "runtime/loadbalance/classic/predictor.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "runtime/loadbalance/lb_manager.h"

namespace periapt::loadbalance {

namespace {
using Row = std::vector<double>;

// What is left of a in the place of b; false: there is no single answer.
bool eliminate(std::vector<Row> a, Row& b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    if (!(std::abs(a[pivot][k]) > 1e-300)) return false;
    std::swap(a[k], a[pivot]);
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double part = a[i][k] / a[k][k];
      for (std::size_t j = k; j < n; ++j) a[i][j] -= part * a[k][j];
      b[i] -= part * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k][j] * b[j];
    b[k] /= a[k][k];
  }
  return true;
}

// How far the function is from what came after each interval: the sum of squares, and how that changes with each
// parameter.
struct Misfit {
  double squares = 0;
  std::vector<Row> curvature;
  Row slope;

  Misfit(LBPredictorFunction& function, std::span<const float> past, Row& parameters)
      : curvature(parameters.size(), Row(parameters.size())), slope(parameters.size()) {
    const std::size_t n = parameters.size();
    Row derivatives(n);
    for (std::size_t t = 0; t + 1 < past.size(); ++t) {
      double expected = 0;
      function.function(past[t], parameters.data(), expected, derivatives.data());
      const double missing = past[t + 1] - expected;
      squares += missing * missing;
      for (std::size_t i = 0; i < n; ++i) {
        slope[i] += missing * derivatives[i];
        for (std::size_t j = 0; j < n; ++j) curvature[i][j] += derivatives[i] * derivatives[j];
      }
    }
  }
};

void fit(LBPredictorFunction& function, std::span<const float> past, Row& parameters) {
  constexpr int most_steps = 100;
  constexpr double least_gain = 1e-12;  // of the sum of squares
  constexpr double most_damping = 1e8;  // a step of that is none
  double damping = 1e-3;
  Misfit now(function, past, parameters);
  for (int step = 0; step < most_steps && now.squares > 0; ++step) {
    std::vector<Row> damped = now.curvature;
    for (std::size_t i = 0; i < damped.size(); ++i) damped[i][i] += damping * (damped[i][i] > 0 ? damped[i][i] : 1);
    Row change = now.slope;
    if (!eliminate(std::move(damped), change)) return;
    Row tried = parameters;
    for (std::size_t i = 0; i < tried.size(); ++i) tried[i] += change[i];
    Misfit then(function, past, tried);
    if (!(then.squares < now.squares)) {
      if ((damping *= 10) > most_damping) return;
      continue;
    }
    const double gain = now.squares - then.squares, all = now.squares;
    damping /= 10;
    parameters = std::move(tried);
    now = std::move(then);
    if (gain < least_gain * all) return;
  }
}
}  // namespace

LoadModelInfo fitted_model(LBPredictorFunction& function, int window, int delay) {
  const auto count = static_cast<std::size_t>(std::max(function.num_params, 0));
  const std::size_t depth = std::max<std::size_t>(static_cast<std::size_t>(std::max(window, 2)), count + 1);
  const std::size_t least = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(delay, 0)), count + 1, depth);
  return {.name = "the predictor of LBTurnPredictorOn()",
          .summary = "a function of the last load, fitted to those before",
          .predict = [&function, count, least](std::span<const float> past, const StrategyOptions&) -> double {
            if (past.size() < least) return past.back();
            Row parameters(count);
            // Not zero, where a product of parameters has no slope, and not the same; a function may begin elsewhere.
            for (std::size_t i = 0; i < count; ++i) parameters[i] = 1 / static_cast<double>(i + 2);
            function.initialize_params(parameters.data());
            fit(function, past, parameters);
            const double expected = function.predict(past.back(), parameters.data());
            return std::isfinite(expected) && expected >= 0 ? expected : past.back();
          },
          .depth = depth};
}

}  // namespace periapt::loadbalance
