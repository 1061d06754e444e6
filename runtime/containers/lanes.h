// What SSEDouble and SSEFloat share: numbers side by side in a register of the processor, on which each operator works
// at once. Comparisons answer all bits of a number, or none. C++14 and later: reached from SSE-Double.h and
// SSE-Float.h.
#pragma once

namespace periapt {

// Self: the class that programs know. Kind: its Vector, Bits (whole numbers of the same size) and what needs an
// instruction of its own.
template <class Self, class Kind>
class Lanes {
  typedef typename Kind::Vector Vector;
  typedef typename Kind::Bits Bits;
  static Self of(Vector vector) {
    Self self;
    self.val = vector;
    return self;
  }

 public:
  Vector val;

  // A plain number is one in every lane.
  friend Self operator+(const Self& a, const Self& b) { return of(a.val + b.val); }
  friend Self operator-(const Self& a, const Self& b) { return of(a.val - b.val); }
  friend Self operator*(const Self& a, const Self& b) { return of(a.val * b.val); }
  friend Self operator/(const Self& a, const Self& b) { return of(a.val / b.val); }
  friend Self operator-(const Self& a) { return of(Vector{} - a.val); }
  Self& operator+=(const Self& b) { return change(val + b.val); }
  Self& operator-=(const Self& b) { return change(val - b.val); }
  Self& operator*=(const Self& b) { return change(val * b.val); }
  Self& operator/=(const Self& b) { return change(val / b.val); }

  friend Self operator&(const Self& a, const Self& b) { return of((Vector)((Bits)a.val & (Bits)b.val)); }
  friend Self operator|(const Self& a, const Self& b) { return of((Vector)((Bits)a.val | (Bits)b.val)); }
  friend Self operator^(const Self& a, const Self& b) { return of((Vector)((Bits)a.val ^ (Bits)b.val)); }
  // What is in `b` and not in `a`.
  friend Self andnot(const Self& a, const Self& b) { return of((Vector)(~(Bits)a.val & (Bits)b.val)); }

  friend Self operator<(const Self& a, const Self& b) { return of((Vector)(a.val < b.val)); }
  friend Self operator>(const Self& a, const Self& b) { return of((Vector)(a.val > b.val)); }
  friend Self operator==(const Self& a, const Self& b) { return of((Vector)(a.val == b.val)); }

  friend Self sqrt(const Self& a) { return of(Kind::root(a.val)); }
  friend Self max(const Self& a, const Self& b) { return of(Kind::larger(a.val, b.val)); }
  // A bit for each lane: its sign, which is set where a comparison holds.
  friend int movemask(const Self& a) { return Kind::signs(a.val); }

 private:
  Self& change(Vector vector) {
    val = vector;
    return static_cast<Self&>(*this);
  }
};

}  // namespace periapt
