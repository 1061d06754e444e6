// Streams of random numbers. The multipliers are those of full period modulo 2^64 with good spectra of P. L'Ecuyer,
// "Tables of linear congruential generators of different sizes and good lattice structure", Mathematics of Computation
// 68 (1999).
#include "runtime/converse/crn.h"

#include <string>

#include "base/fatal.h"

namespace {
constexpr CmiUInt8 multipliers[] = {2862933555777941757u, 3202034522624059733u, 3935559000370003845u};
constexpr int kinds = sizeof multipliers / sizeof multipliers[0];

CmiUInt8 next(CrnStream& s) { return s.state = s.state * s.multiplier + s.increment; }

// Scatters the bits of a seed, so that near ones begin far apart (Stafford's variant 13 of MurmurHash3's finish).
CmiUInt8 scatter(CmiUInt8 x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}
}  // namespace

extern "C" {

void CrnInitStream(CrnStream* stream, int seed, int type) {
  if (type < 0 || type >= kinds) {
    periapt::fatal("a stream of random numbers of type " + std::to_string(type), "CrnInitStream",
                   "there are types 0, 1 and 2");
  }
  const CmiUInt8 start = scatter(static_cast<CmiUInt8>(static_cast<unsigned>(seed)) + 0x9e3779b97f4a7c15u);
  *stream = {start, multipliers[type], scatter(start) | 1};
}
int CrnInt(CrnStream* stream) { return static_cast<int>(next(*stream) >> 33); }
double CrnDouble(CrnStream* stream) { return static_cast<double>(next(*stream) >> 11) * 0x1p-53; }
float CrnFloat(CrnStream* stream) { return static_cast<float>(CrnDouble(stream)); }
}
