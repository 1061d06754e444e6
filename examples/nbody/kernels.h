// The inner loops: cell on cell, particle on particle, and cells into their parent. Each is compiled for several
// instruction sets; `kernels()` gives the set this machine is fastest with.
#pragma once

#include <cstddef>

namespace periapt::nbody {

/// A cell that acts on another from afar.
struct FarSource {
  float x, y, z;         // from its centre to the centre acted on
  float scale;           // its moments of degree n are divided by scale^n
  const float* moments;  // `terms` of them (multipole.h); up to near_padding floats more are read
};

/// Particles that act at short range, by coordinate.
struct NearSources {
  const float *x, *y, *z, *mass, *softening;
  std::size_t size;  // a multiple of near_padding; what fills it up has no mass and lies far away
};
inline constexpr std::size_t near_padding = 16;

/// What particles receive: their coordinates in the sources' frame, and sums that are added to.
struct NearSinks {
  const float *x, *y, *z, *softening;
  float *ax, *ay, *az, *potential;
  std::size_t size;
};

/// Two cells that become one.
struct Merger {
  struct Child {
    float x, y, z;         // from its centre to the parent's, over the parent's radius
    float scale;           // its radius over the parent's
    const float* moments;  // `terms` of them; up to near_padding floats more are read
  };
  Child children[2];
  float* moments;  // of the parent: `terms`, written
};

struct Kernels {
  const char* name;
  /// Adds to local[k] (times sinkScale^degree) what the sources make there.
  void (*cells)(const FarSource* sources, std::size_t count, float sinkScale, double* local);
  /// Adds to the sinks what the sources make there: Newton's force beyond h_1 + h_2, and within it that of the cubic
  /// spline (Hernquist and Katz 1989, ApJS 70, 419). A pair at distance 0 gives no force, and the potential at the
  /// centre of the spline if it is softened: so a particle among its own sources adds 1.4 m / h to its own depth.
  void (*particles)(const NearSources& sources, const NearSinks& sinks);
  /// The moments of parents about their own centres. None may be a child of another.
  void (*merge)(const Merger* mergers, std::size_t count);
};

/// The widest this processor can run, or the one that PERIAPT_NBODY_SIMD names in the environment.
const Kernels& kernels();

/// "base", "avx2" or "avx512"; null where it was not built or this processor cannot run it.
const Kernels* kernelsFor(const char* name);

}  // namespace periapt::nbody
