// CkSample: count, mean, deviation and range of the numbers added to it. C++17: reached from ckstatistics.h.
//
// Mean and sum of squared deviations are updated as numbers come (Welford 1962; merging of two samples: Chan, Golub,
// LeVeque 1979), so that numbers far from zero lose no digits.
#pragma once
#include <cmath>
#include <cstdio>
#include <limits>

#include "runtime/pup/operators.h"

template <class Real, class Result>
class CkSampleT {
 public:
  void add(Real value) {
    if (n_ == 0 || value < low_) low_ = value;
    if (n_ == 0 || high_ < value) high_ = value;
    const Result delta = static_cast<Result>(value) - mean_;
    mean_ += delta / static_cast<Result>(++n_);
    deviations_ += delta * (static_cast<Result>(value) - mean_);
  }
  void add(const CkSampleT& other) {
    if (other.n_ == 0) return;
    if (n_ == 0) {
      *this = other;
      return;
    }
    if (other.low_ < low_) low_ = other.low_;
    if (high_ < other.high_) high_ = other.high_;
    const Result delta = other.mean_ - mean_, total = static_cast<Result>(n_) + static_cast<Result>(other.n_);
    deviations_ += other.deviations_ + delta * delta * static_cast<Result>(n_) * static_cast<Result>(other.n_) / total;
    mean_ += delta * static_cast<Result>(other.n_) / total;
    n_ += other.n_;
  }
  void operator+=(Real value) { add(value); }

  Result getMean() const { return mean_; }
  // Of the population the numbers are a sample of: the sum of squares is divided by n - 1.
  Result getVariance() const { return deviations_ / static_cast<Result>(n_ - 1); }
  Result getStddev() const { return static_cast<Result>(std::sqrt(getVariance())); }
  // 1e20 and -1e20 when there are no numbers, as ever.
  Real getMin() const { return n_ ? low_ : static_cast<Real>(1e20); }
  Real getMax() const { return n_ ? high_ : static_cast<Real>(-1e20); }
  int getCount() const { return n_; }
  Result getRMS() const {
    return static_cast<Result>(std::sqrt(deviations_ / static_cast<Result>(n_) + mean_ * mean_));
  }

  void print(std::FILE* to) const {
    std::fprintf(to, "ave= %g  stddev= %g  min= %g  max= %g  n= %d\n", static_cast<double>(getMean()),
                 static_cast<double>(getStddev()), static_cast<double>(getMin()), static_cast<double>(getMax()), n_);
  }
  void print() const { print(stdout); }
  void printMinAveMax(std::FILE* to) const {
    std::fprintf(to, "min= %g  ave= %g  max= %g \n", static_cast<double>(getMin()), static_cast<double>(getMean()),
                 static_cast<double>(getMax()));
  }

  void pup(PUP::er& p) {
    p | low_;
    p | high_;
    p | mean_;
    p | deviations_;
    p | n_;
  }

 private:
  Real low_{}, high_{};
  Result mean_{}, deviations_{};
  int n_ = 0;
};
typedef CkSampleT<double, double> CkSample;
