// CkVec, CkQ, the hash table, sequences, samples, vectors and bit vectors, each as a program meets it.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "ckbitvector.h"
#include "ckcomplex.h"
#include "ckhashtable.h"
#include "ckheap.h"
#include "ckimage.h"
#include "cklists.h"
#include "ckliststring.h"
#include "cksequence.h"
#include "ckset.h"
#include "ckstatistics.h"
#include "ckvector3d.h"
#include "cmiqueue.h"
#include "elements.h"
#include "hilbert.h"
#include "pcqueue.h"
#include "pup_stl.h"
#include "vector2d.h"

namespace {

template <class T>
void through_memory(T& from, T& to) {
  PUP::sizer sizer;
  sizer | from;
  std::vector<char> bytes(sizer.size());
  PUP::toMem packer(bytes.data());
  packer | from;
  ASSERT_EQ(packer.size(), sizer.size());
  PUP::fromMem unpacker(bytes.data());
  unpacker | to;
  ASSERT_EQ(unpacker.size(), sizer.size());
}

// --- CkVec -----------------------------------------------------------------------------------------------------------

TEST(CkVec, insert_overwrites_and_grows) {
  CkVec<int> v;
  v.insert(4, 40);
  EXPECT_EQ(v.length(), 5u);
  EXPECT_GE(v.capacity(), 5u);
  v.insert(2, 20);
  EXPECT_EQ(v.length(), 5u);
  EXPECT_EQ(v[2], 20);
  EXPECT_EQ(v[4], 40);
}

TEST(CkVec, may_be_given_one_of_its_own_elements) {
  CkVec<std::string> v;
  v.push_back("a text too long for the string itself to hold");
  for (int i = 0; i < 100; ++i) v.push_back(v[0]);
  for (const std::string& s : v) EXPECT_EQ(s, "a text too long for the string itself to hold");
}

TEST(CkVec, length_can_be_assigned) {
  CkVec<int> v(10, 3);
  EXPECT_EQ(v.length(), 3u);
  EXPECT_EQ(v.capacity(), 10u);
  v.length() = 7;
  EXPECT_EQ(v.size(), 7u);
  v.removeAll();
  EXPECT_EQ(v.size(), 0u);
  EXPECT_EQ(v.capacity(), 10u);
  v.clear();
  EXPECT_EQ(v.getVec(), nullptr);
}

TEST(CkVec, remove_closes_the_gap) {
  CkVec<int> v;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(v.push_back_v(i), static_cast<std::size_t>(i));
  v.remove(1);
  v.remove(3);
  EXPECT_EQ(std::vector<int>(v.begin(), v.end()), (std::vector<int>{0, 2, 3}));
}

TEST(CkVec, copies_are_independent_and_moves_leave_nothing) {
  CkVec<std::string> a;
  a.push_back("one");
  CkVec<std::string> b(a), c;
  c = a;
  a[0] = "two";
  EXPECT_EQ(b[0], "one");
  EXPECT_EQ(c[0], "one");
  CkVec<std::string> d(std::move(a));
  EXPECT_EQ(d[0], "two");
  EXPECT_EQ(a.length(), 0u);
  c = *&c;
  EXPECT_EQ(c[0], "one");
}

TEST(CkVec, sorts_with_greater_or_equal_alone) {
  struct Key {
    int k;
    bool operator>=(const Key& o) const { return k >= o.k; }
    bool operator<=(const Key& o) const { return k <= o.k; }
  };
  CkVec<Key> v;
  for (int i = 0; i < 1000; ++i) v.push_back({i * 7919 % 1000});
  v.quickSort();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(v[i].k, i);
}

TEST(CkVec, sorts_by_operators_that_are_not_const) {
  struct Key {
    int k;
    bool operator>=(const Key& o) { return k >= o.k; }
  };
  CkVec<Key> v;
  for (int i = 0; i < 1000; ++i) v.push_back({i * 7919 % 1000});
  v.quickSort();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(v[i].k, i);
}

TEST(CkVec, pups_elements_of_any_kind) {
  CkVec<double> numbers, numbers2;
  CkVec<CkVec<std::string>> texts, texts2;
  for (int i = 0; i < 50; ++i) numbers.push_back(i * 0.5);
  texts.resize(3);
  texts[1].push_back("x");
  texts[2].push_back("yy");
  texts[2].push_back("");
  numbers2.push_back(-1);
  through_memory(numbers, numbers2);
  through_memory(texts, texts2);
  EXPECT_EQ(std::vector<double>(numbers2.begin(), numbers2.end()), std::vector<double>(numbers.begin(), numbers.end()));
  ASSERT_EQ(texts2.length(), 3u);
  EXPECT_EQ(texts2[0].length(), 0u);
  EXPECT_EQ(texts2[2][0], "yy");
}

TEST(CkVec, refuses_a_length_that_the_bytes_cannot_hold) {
  std::vector<char> bytes(32, '\x7f');
  CkVec<double> v;
  PUP::fromMem p(bytes.data(), bytes.size());
  EXPECT_DEATH(p | v, "CkVec|length|elements");
}

TEST(CkPupPtrVec, owns_what_it_unpacks_and_keeps_null) {
  CkPupPtrVec<std::string> a, b;
  a.push_back(new std::string("first"));
  a.push_back(nullptr);
  through_memory(a, b);
  ASSERT_EQ(b.length(), 2u);
  EXPECT_EQ(*b[0], "first");
  EXPECT_EQ(static_cast<std::string*>(b[1]), nullptr);
}

TEST(CkPupPtrVec, takes_what_it_owns_along_when_it_is_moved) {
  CkPupPtrVec<std::string> a;
  a.push_back(new std::string("first"));
  CkPupPtrVec<std::string> b(std::move(a));
  ASSERT_EQ(b.length(), 1u);
  EXPECT_EQ(*b[0], "first");
  EXPECT_EQ(a.length(), 0u);
  CkPupPtrVec<std::string> c;
  c.push_back(new std::string("second"));
  c = std::move(b);
  EXPECT_EQ(*c[0], "first");
}

TEST(CkPagedVector, makes_pages_where_it_is_touched) {
  CkPagedVector<long> a(10000), b;
  a[0] = 1;
  a[9999] = 2;
  EXPECT_EQ(a.get(5000), 0);
  through_memory(a, b);
  EXPECT_EQ(b[0], 1);
  EXPECT_EQ(b[9999], 2);
  EXPECT_EQ(b[255], 0);
}

// --- CkQ -------------------------------------------------------------------------------------------------------------

TEST(CkQ, is_a_queue_and_a_stack) {
  CkQ<int> q;
  EXPECT_TRUE(q.isEmpty());
  EXPECT_EQ(q.deq(), 0);
  for (int i = 0; i < 20; ++i) q.enq(i);
  for (int i = 0; i < 15; ++i) EXPECT_EQ(q.deq(), i);
  for (int i = 20; i < 40; ++i) q.enq(i);
  q.push(-1);
  EXPECT_EQ(q.peek(), -1);
  EXPECT_EQ(q.length(), 26);
  EXPECT_EQ(q.deq(), -1);
  for (int i = 15; i < 40; ++i) EXPECT_EQ(q.deq(), i);
  EXPECT_TRUE(q.isEmpty());
}

TEST(CkQ, behaves_like_a_deque_under_random_use) {
  std::mt19937 random(7);
  CkQ<std::string> q;
  std::deque<std::string> reference;
  for (int step = 0; step < 20000; ++step) {
    const std::string value = std::to_string(random());
    const int place = reference.empty() ? 0 : static_cast<int>(random() % reference.size());
    switch (random() % 7) {
      case 0:
      case 1:
        q.enq(value), reference.push_back(value);
        break;
      case 2:
        q.push(value), reference.push_front(value);
        break;
      case 3:
        if (!reference.empty()) {
          ASSERT_EQ(q.deq(), reference.front());
          reference.pop_front();
        }
        break;
      case 4:
        q.insert(place, value), reference.insert(reference.begin() + place, value);
        break;
      case 5:
        if (!reference.empty()) {
          ASSERT_EQ(q.remove(place), reference[place]);
          reference.erase(reference.begin() + place);
        }
        break;
      default:
        if (random() % 50 == 0 && !reference.empty()) q.removeFrom(place), reference.resize(place);
    }
    ASSERT_EQ(static_cast<std::size_t>(q.length()), reference.size());
    if (!reference.empty()) {
      ASSERT_EQ(q[reference.size() / 2], reference[reference.size() / 2]);
    }
  }
  CkQ<std::string> copy;
  through_memory(q, copy);
  ASSERT_EQ(static_cast<std::size_t>(copy.length()), reference.size());
  std::string* array = copy.getArray();
  for (std::size_t i = 0; i < reference.size(); ++i) ASSERT_EQ(array[i], reference[i]);
  delete[] array;
}

TEST(CkQ, fills_what_an_insertion_past_the_end_skips) {
  CkQ<int> q;
  q.enq(1);
  q.insert(4, 9);
  EXPECT_EQ(q.length(), 5);
  EXPECT_EQ(q[1], 0);
  EXPECT_EQ(q[4], 9);
  EXPECT_EQ(q.remove(7), 0);
}

// --- the hash table --------------------------------------------------------------------------------------------------

struct Index2 {
  int x, y;
  CkHashCode hash() const { return static_cast<CkHashCode>((x << 10) + y); }
  static CkHashCode staticHash(const void* k, std::size_t) { return static_cast<const Index2*>(k)->hash(); }
  int compare(const Index2& o) const { return x == o.x && y == o.y; }
  static int staticCompare(const void* a, const void* b, std::size_t) {
    return static_cast<const Index2*>(a)->compare(*static_cast<const Index2*>(b));
  }
  void pup(PUP::er& p) {
    p | x;
    p | y;
  }
};

TEST(CkHashtableT, behaves_like_a_map_under_random_use) {
  std::mt19937 random(3);
  CkHashtableT<CkHashtableAdaptorT<int>, long> table;
  std::map<int, long> reference;
  for (int step = 0; step < 50000; ++step) {
    // keys that are multiples of 64 fall together unless the bits of the code are mixed
    const int key = static_cast<int>(random() % 500) * 64;
    switch (random() % 3) {
      case 0: {
        int existed;
        table.put(key, &existed) = step;
        ASSERT_EQ(existed != 0, reference.count(key) != 0);
        reference[key] = step;
        break;
      }
      case 1:
        ASSERT_EQ(table.remove(key), static_cast<int>(reference.erase(key)));
        break;
      default:
        ASSERT_EQ(table.get(key), reference.count(key) ? reference[key] : 0);
    }
    ASSERT_EQ(static_cast<std::size_t>(table.numObjects()), reference.size());
  }
  std::map<int, long> seen;
  CkHashtableIterator* it = table.iterator();
  while (it->hasNext()) {
    void* key;
    long* object = static_cast<long*>(it->next(&key));
    seen[*static_cast<CkHashtableAdaptorT<int>*>(key)] = *object;
  }
  EXPECT_EQ(it->next(), nullptr);
  it->seekStart();
  EXPECT_TRUE(it->hasNext());
  delete it;
  EXPECT_EQ(seen, reference);
  table.empty();
  EXPECT_EQ(table.numObjects(), 0);
}

TEST(CkHashtableT, pups) {
  CkHashtableT<Index2, int> a, b;
  for (int i = 0; i < 100; ++i) a.put({i, -i}) = i * i;
  b.put({7, 7}) = 7;
  through_memory(a, b);
  EXPECT_EQ(b.numObjects(), 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(b.getRef({i, -i}), i * i);
  EXPECT_EQ(b.get({7, 7}), 0);
}

TEST(CkHashtableTslow, compares_bytes_or_texts) {
  CkHashtableTslow<long, int> by_bytes;
  by_bytes.put(1L << 40) = 5;
  EXPECT_EQ(by_bytes.get(1L << 40), 5);
  EXPECT_EQ(by_bytes.get(1L << 41), 0);
  CkHashtableTslow<const char*, int> by_text(5, 0.5, CkHashFunction_string, CkHashCompare_string);
  const std::string one = "key", other = "key";
  by_text.put(one.c_str()) = 3;
  EXPECT_EQ(by_text.get(other.c_str()), 3);
}

// --- CkSequence ------------------------------------------------------------------------------------------------------

std::vector<int> contents(CkSequence<int>& s) {
  std::vector<int> all;
  for (CkSequence<int>::iterator i = s.begin(); i != s.end(); i++) all.push_back(*i);
  return all;
}

TEST(CkSequence, iterates_in_order_before_and_after_compaction) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::set<int> reference;
    for (unsigned i = random() % 60; i > 0; --i) reference.insert(static_cast<int>(random() % 100) - 20);
    for (int i = 0; i < static_cast<int>(random() % 40); ++i) reference.insert(200 + 3 * i);
    std::vector<int> shuffled(reference.begin(), reference.end());
    shuffled.insert(shuffled.end(), reference.begin(), reference.end());
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    CkSequence<int> s(shuffled.begin(), shuffled.end()), copy;
    const std::vector<int> sorted(reference.begin(), reference.end());
    ASSERT_EQ(contents(s), sorted);
    s.DoneInserting();
    ASSERT_EQ(contents(s), sorted);
    ASSERT_EQ(static_cast<std::size_t>(s.num_elements()), sorted.size());
    through_memory(s, copy);
    ASSERT_EQ(contents(copy), sorted);
  }
}

TEST(CkSequence, keeps_regular_indices_in_few_bytes) {
  CkSequence<int> s;
  for (int i = 0; i < 100000; ++i) s.Insert(5 + 2 * i);
  s.Insert(1000000);
  s.Remove(5);
  s.DoneInserting();
  EXPECT_EQ(s.num_elements(), 100000);
  EXPECT_LT(s.mem_size(), 100);
  EXPECT_DEATH(s.Insert(3), "DoneInserting");
}

// --- the small ones --------------------------------------------------------------------------------------------------

TEST(CkSample, has_the_moments_of_its_numbers_also_far_from_zero) {
  CkSample s, left, right;
  for (int i = 0; i < 1000; ++i) {
    const double x = 1e9 + i;
    s += x;
    (i < 300 ? left : right).add(x);
  }
  left.add(right);
  left.add(CkSample());
  for (const CkSample* sample : {&s, &left}) {
    EXPECT_EQ(sample->getCount(), 1000);
    EXPECT_DOUBLE_EQ(sample->getMean(), 1e9 + 499.5);
    EXPECT_NEAR(sample->getVariance(), 1000 * 1001 / 12.0, 1e-6);
    EXPECT_EQ(sample->getMin(), 1e9);
    EXPECT_EQ(sample->getMax(), 1e9 + 999);
  }
  CkSample small;
  small += 3;
  small += 4;
  EXPECT_DOUBLE_EQ(small.getRMS(), std::sqrt(12.5));
}

TEST(CkVector3d, has_the_usual_operations) {
  const CkVector3d x(1, 0, 0), y(0, 2, 0);
  EXPECT_EQ(x.cross(y), CkVector3d(0, 0, 2));
  EXPECT_DOUBLE_EQ((x + 3 * y).dist(CkVector3d(0.)), std::sqrt(37));
  EXPECT_DOUBLE_EQ(x.cosAng(x + x.dir()), 1);
  EXPECT_EQ(CkVector3i(CkVector3d(1.9, -1.9, 0)), CkVector3i(1, -1, 0));
  CkBbox3d box;
  EXPECT_TRUE(box.isEmpty());
  box.add(x);
  box.add(y);
  EXPECT_EQ(box.max, CkVector3d(1, 2, 0));
  const CkHalfspace3d above(CkVector3d(0.), CkVector3d(1, 0, 0), CkVector3d(0, 1, 0));
  EXPECT_GT(above.side(CkVector3d(0, 0, 1)), 0);
  EXPECT_EQ(above.intersectPt(CkVector3d(1, 1, 5), CkVector3d(0, 0, -1)), CkVector3d(1, 1, 0));
}

TEST(ckcomplex, multiplies) { EXPECT_EQ((ckcomplex(1, 2) * ckcomplex(3, -1)).re, 5); }

// --- CkBitVector: the checks of megatest's bitvector, and a reference of bools
// -------------------------------------------

TEST(CkBitVector, has_bit_0_last) {
  CkBitVector v(64);
  for (int i = 0; i < 32; ++i) i >= 16 ? v.Set(i + 32) : v.Clear(i + 32);
  EXPECT_EQ(v.getData()[0], 0xffff0000u);
  EXPECT_EQ(v.getData()[1], 0u);
  v.ShiftDown(32);
  EXPECT_EQ(v.getData()[1], 0xffff0000u);
  v.ShiftUp(16);
  EXPECT_EQ(v.getData()[0], 0x0000ffffu);
  EXPECT_EQ(v.getData()[1], 0u);
}

TEST(CkBitVector, keeps_a_choice_in_its_first_bits) {
  CkBitVector a(0x8a82, 0x10000), b(0x8511, 0x10000);
  EXPECT_EQ(a.Length(), 16);
  EXPECT_EQ(CkBitVector(a).Union(b).getData()[0], 0x8f930000u);
  EXPECT_EQ(CkBitVector(a).Intersection(b).getData()[0], 0x80000000u);
  EXPECT_EQ(CkBitVector(a).Difference(b).getData()[0], 0x0a820000u);
  EXPECT_LT(b, a);
  EXPECT_EQ(CkBitVector(2, 5).Length(), 3);
  EXPECT_EQ(CkBitVector(2, 5).toString(), "010");
  EXPECT_EQ(CkBitVector(1, 2).Concat(CkBitVector(2, 5)).toString(), "1010");
  EXPECT_DEATH(CkBitVector(5, 5), "no such choice");
  EXPECT_DEATH(a.Union(CkBitVector(3)), "16 and 3 bits");
}

TEST(CkBitVector, agrees_with_a_string_of_bits_at_any_length) {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string a, b;
    for (unsigned i = random() % 100; i > 0; --i) a += static_cast<char>('0' + random() % 2);
    for (unsigned i = random() % 100; i > 0; --i) b += static_cast<char>('0' + random() % 2);
    auto vector = [](const std::string& bits) {
      CkBitVector v(static_cast<unsigned>(bits.size()));
      for (std::size_t i = 0; i < bits.size(); ++i)
        if (bits[i] == '1') v.Set(static_cast<unsigned>(bits.size() - 1 - i));
      return v;
    };
    CkBitVector va = vector(a), vb = vector(b);
    ASSERT_EQ(va.toString(), a);
    ASSERT_EQ(CkBitVector(va).Concat(vb).toString(), a + b);
    CkBitVector twice(va);
    ASSERT_EQ(twice.Concat(twice).toString(), a + a);
    const unsigned by = static_cast<unsigned>(random() % 110), n = static_cast<unsigned>(a.size());
    const std::string zeros(std::min(by, n), '0');
    ASSERT_EQ(CkBitVector(va).ShiftUp(by).toString(), a.substr(zeros.size()) + zeros);
    ASSERT_EQ(CkBitVector(va).ShiftDown(by).toString(), zeros + a.substr(0, n - zeros.size()));
    std::string inverted = a;
    for (char& c : inverted) c = c == '0' ? '1' : '0';
    ASSERT_EQ(CkBitVector(va).Invert().toString(), inverted);
    ASSERT_EQ(CkBitVector(va).Resize(n + by).toString(), std::string(by, '0') + a);
    if (by < n) {
      ASSERT_EQ(CkBitVector(va).Resize(n - by).toString(), a.substr(by));
    }
    CkBitVector copy;
    through_memory(va, copy);
    ASSERT_EQ(copy, va);
  }
}

// --- what C programs have of the hash table --------------------------------------------------------------------------

TEST(HashtableForC, KeepsObjectsByIntsStringsAndPointers) {
  CkHashtable_c squares = CkCreateHashtable_int(sizeof(double), 5);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(*static_cast<double*>(CkHashtablePut(squares, &i)), 0.0);
    *static_cast<double*>(CkHashtablePut(squares, &i)) = i * i;
  }
  EXPECT_EQ(CkHashtableSize(squares), 100);
  const int seven = 7;
  void* object = CkHashtableGet(squares, &seven);
  EXPECT_EQ(*static_cast<double*>(object), 49);
  EXPECT_EQ(*static_cast<int*>(CkHashtableKeyFromObject(squares, object)), 7);
  EXPECT_EQ(CkHashtableRemove(squares, &seven), 1);
  EXPECT_EQ(CkHashtableRemove(squares, &seven), 0);
  EXPECT_EQ(CkHashtableGet(squares, &seven), nullptr);
  CkHashtableIterator_c all = CkHashtableGetIterator(squares);
  std::set<int> keys;
  void* key = nullptr;
  while (void* next = CkHashtableIteratorNext(all, &key)) {
    const int k = *static_cast<int*>(key);
    EXPECT_EQ(*static_cast<double*>(next), k * k);
    EXPECT_TRUE(keys.insert(k).second);
  }
  EXPECT_EQ(keys.size(), 99u);
  CkHashtableIteratorSeekStart(all);
  EXPECT_NE(CkHashtableIteratorNext(all, &key), nullptr);
  CkHashtableDestroyIterator(all);
  CkDeleteHashtable(squares);

  CkHashtable_c lengths = CkCreateHashtable_string(sizeof(int), 5);
  std::string name = "a name";
  const char *one = "a name", *other = name.c_str();
  *static_cast<int*>(CkHashtablePut(lengths, &one)) = 6;
  EXPECT_EQ(*static_cast<int*>(CkHashtableGet(lengths, &other)), 6);
  CkDeleteHashtable(lengths);

  CkHashtable_c places = CkCreateHashtable_pointer(1, 5);
  const void *here = &name, *there = &lengths;
  *static_cast<char*>(CkHashtablePut(places, &here)) = 'h';
  *static_cast<char*>(CkHashtablePut(places, &there)) = 't';
  EXPECT_EQ(*static_cast<char*>(CkHashtableGet(places, &here)), 'h');
  EXPECT_EQ(CkHashtableKeyFromObject(places, CkHashtableGet(places, &there)) != nullptr, true);
  CkDeleteHashtable(places);
}

// --- vector2d, CkRect, CkImage, CkListString -------------------------------------------------------------------------

TEST(Vector2d, Computes) {
  const vector2d a(3, 4), b(-1, 2);
  EXPECT_EQ(a + b, vector2d(2, 6));
  EXPECT_EQ(2.0 * a - b, vector2d(7, 6));
  EXPECT_EQ(a.mag(), 5);
  EXPECT_EQ(a.dot(b), 5);
  EXPECT_EQ(a.dist(b), std::sqrt(20.0));
  EXPECT_EQ(a.dir(), vector2d(0.6, 0.8));
  EXPECT_EQ(a.perp(), vector2d(-4, 3));
  vector2d c(7);
  c.scale(b);
  EXPECT_EQ(c, vector2d(-7, 14));
  c.enlarge(a);
  EXPECT_EQ(c, vector2d(3, 14));
  c[0] = 20;
  EXPECT_EQ(c.max(), 20);
}

TEST(CkRect, UnitesMeetsAndGrows) {
  const CkRect a(1, 2, 5, 7), b(3, 0, 9, 4);
  EXPECT_EQ(a.wid() * a.ht(), a.area());
  EXPECT_TRUE(a.getUnion(b) == CkRect(1, 0, 9, 7));
  EXPECT_TRUE(a.getIntersect(b) == CkRect(3, 2, 5, 4));
  EXPECT_TRUE(a.getIntersect(b.getShift(100, 0)).isEmpty());
  EXPECT_TRUE(a.inbounds(1, 2) && !a.inbounds(5, 2) && !a.inbounds(1, 7));
  CkRect c;
  c.makeEmpty();
  EXPECT_TRUE(c.isEmpty());
  c.add(4, 5);
  c.add(2, 9);
  EXPECT_TRUE(c == CkRect(2, 5, 4, 9));
  c.enlarge(1, 2);
  EXPECT_TRUE(c == CkRect(1, 3, 5, 11));
}

TEST(CkImage, PutsAddsAndClips) {
  CkAllocImage whole(6, 4, 3), part(2, 2, 3);
  whole.clear();
  for (int i = 0; i < 12; ++i) part.getData()[i] = static_cast<CkImage::channel_t>(20 * i);
  whole.put(3, 1, part);
  EXPECT_EQ(whole.getPixel(4, 2)[2], 220);
  EXPECT_EQ(whole.getPixel(3, 1)[1], 20);
  EXPECT_EQ(whole.getPixel(5, 2)[0], 0);
  whole.add(3, 1, part);
  EXPECT_EQ(whole.getPixel(4, 2)[2], 440 - 256);
  CkImage::channel_t* clip = CkImage::newClip();
  whole.addClip(3, 1, part, clip);
  EXPECT_EQ(whole.getPixel(4, 2)[2], 255);
  EXPECT_EQ(whole.getPixel(4, 1)[0], 180);
  delete[] clip;

  CkAllocImage copy;
  through_memory(whole, copy);
  EXPECT_EQ(copy.getRow(), 18);
  EXPECT_TRUE(copy.getRect() == CkRect(0, 0, 6, 4));
  EXPECT_EQ(copy.getPixel(4, 1)[0], 180);
  copy.window(CkRect(4, 1, 6, 3));
  EXPECT_EQ(copy.getWidth(), 2);
  EXPECT_EQ(copy.getPixel(0, 0)[0], 180);
  copy.clear();
  EXPECT_EQ(copy.getPixel(0, 1)[2], 0);
}

TEST(CkListString, IncludesWhatItNames) {
  CkListString list("0-10,20-40:2,100,200-300:10.3");
  std::set<int> in;
  for (int i = 0; i < 400; ++i)
    if (list.includes(i)) in.insert(i);
  EXPECT_EQ(in.size(), 11u + 11u + 1u + 31u);
  for (int i : {0, 10, 20, 22, 40, 100, 200, 202, 290, 300}) EXPECT_TRUE(in.count(i)) << i;
  for (int i : {11, 21, 99, 203}) EXPECT_FALSE(in.count(i)) << i;
  EXPECT_TRUE(CkListString().isEmpty() && CkListString().includes(7));
}

// --- what balancers and threads keep things in
// -------------------------------------------------------------------------

TEST(CkVec, bubble_sort_takes_both_ends) {
  CkVec<int> v;
  for (int value : {9, 4, 3, 2, 1}) v.push_back(value);
  v.bubbleSort(1, 3);
  EXPECT_EQ(std::vector<int>(v.begin(), v.end()), (std::vector<int>{9, 2, 3, 4, 1}));
}

TEST(RecordHeap, gives_the_least_and_the_largest_load_first) {
  InfoRecord records[5];
  minHeap light(5);
  maxHeap heavy(5);
  for (int i = 0; i < 5; ++i) {
    records[i].load = 3 * i % 5;  // 0 3 1 4 2
    records[i].Id = i;
    light.insert(&records[i]);
    heavy.insert(&records[i]);
  }
  records[1].load = 5;
  light.update(&records[1]);
  heapIterator at;
  std::set<int> seen;
  for (InfoRecord* r = light.iterator(&at); r; r = light.next(&at)) seen.insert(r->Id);
  EXPECT_EQ(seen, (std::set<int>{0, 1, 2, 3, 4}));
  std::vector<double> loads;
  while (InfoRecord* r = light.deleteMin()) loads.push_back(r->load);
  EXPECT_EQ(loads, (std::vector<double>{0, 1, 2, 4, 5}));
  EXPECT_EQ(light.numElements(), 0);
  records[1].load = 3;
  EXPECT_EQ(heavy.deleteMax(), &records[3]);
  EXPECT_EQ(heavy.numElements(), 4);
}

TEST(RecordSet, holds_a_record_once) {
  processorInfo pe;
  Set set;
  computeInfo objects[3];
  for (computeInfo& object : objects) set.insert(&object);
  set.insert(&objects[0]);
  pe.computeSet = &set;
  EXPECT_EQ(pe.computeSet->numElements(), 3);
  Iterator at;
  EXPECT_EQ(set.iterator(&at), &objects[2]);
  EXPECT_EQ(set.next(&at), &objects[1]);
  set.remove(&objects[2]);
  EXPECT_FALSE(set.find(&objects[2]));
  EXPECT_TRUE(set.find(&objects[0]));
}

TEST(CMIQueue, is_a_PCQueue) {
  CMIQueue queue = CMIQueueCreate();
  char letter = 'a';
  CMIQueuePush(queue, &letter);
  EXPECT_EQ(PCQueueLength(queue), 1);
  EXPECT_EQ(CMIQueuePop(queue), &letter);
  EXPECT_TRUE(CMIQueueEmpty(queue));
  PCQueueDestroy(queue);
}

// --- CkCompactVec, SafePool ------------------------------------------------------------------------------------------

TEST(CkCompactVec, forgets_what_is_done_with_at_the_front) {
  std::vector<int> numbers(1000);
  CkCompactVec<int*> v;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(v.push_back_v(&numbers[i]), static_cast<std::size_t>(i));
    if (i >= 10) v.marknull(i - 10);
  }
  EXPECT_EQ(v.length(), 1000u);
  EXPECT_LT(v.capacity(), 200u);
  const CkCompactVec<int*>& seen = v;
  EXPECT_EQ(seen[3], nullptr);
  EXPECT_EQ(seen[989], nullptr);
  for (int i = 990; i < 1000; ++i) EXPECT_EQ(v[i], &numbers[i]);
  v.shrink();
  EXPECT_EQ(v.getVec()[0], &numbers[990]);
}

TEST(CkCompactVec, keeps_what_is_behind_something_in_use) {
  CkCompactVec<int> v(4, 0);
  for (int i = 1; i <= 20; ++i) v.insertAtEnd(i);
  for (int i = 1; i < 19; ++i) v.marknull(i);
  EXPECT_EQ(v[0], 1);
  EXPECT_EQ(v[5], 0);
  EXPECT_EQ(v[19], 20);
  v.insert(5, 50);
  v.marknull(0);
  v.shrink();
  EXPECT_EQ(v.size(), 20u);
  EXPECT_EQ(v.getVec()[0], 50);
  v.remove(5);
  EXPECT_EQ(v.size(), 19u);
  EXPECT_EQ(v[18], 20);
  v.resize(25);
  EXPECT_EQ(v[24], 0);
  v.clear();
  EXPECT_EQ(v.length(), 0u);
}

TEST(CkCompactVec, pups) {
  CkCompactVec<long> from, to, length;
  for (int i = 1; i <= 9; ++i) from.push_back(i);
  for (int i = 0; i < 4; ++i) from.marknull(i);
  through_memory(from, to);
  EXPECT_EQ(to.length(), 9u);
  EXPECT_EQ(static_cast<const CkCompactVec<long>&>(to)[1], 0);
  for (int i = 4; i < 9; ++i) EXPECT_EQ(to[i], i + 1);
  PUP::sizer sizer;
  EXPECT_EQ(from.pupbase(sizer), 9u);
}

TEST(CkCompactVecDeathTest, says_where_its_elements_begin) {
  CkCompactVec<int> v;
  for (int i = 1; i <= 8; ++i) v.push_back(i);
  for (int i = 0; i < 8; ++i) v.marknull(i);
  v.shrink();
  EXPECT_DEATH(v.remove(2), "index 2 of a CkCompactVec::remove that holds 8(.|\n)*from 8");
}

int made, destroyed, cleaned;
TEST(SafePool, uses_objects_again) {
  {
    SafePool<int*> pool([] { return ++made, new int(0); }, [](int* n) { ++destroyed, delete n; },
                        [](int* n) { ++cleaned, *n = 0; });
    std::vector<int*> taken;
    for (int i = 0; i < 40; ++i) *taken.emplace_back(pool.get()) = 7;
    EXPECT_EQ(made, 40);
    for (int* n : taken) pool.put(n);
    EXPECT_EQ(destroyed, 8);
    EXPECT_EQ(cleaned, 32);
    int* again = pool.get();
    EXPECT_EQ(*again, 0);
    pool.put(again);
  }
  EXPECT_EQ(made, destroyed);
}

TEST(PCQueue, keeps_the_order_and_answers_null_when_empty) {
  PCQueue queue = PCQueueCreate();
  char letters[] = "ab";
  PCQueuePush(queue, letters);
  PCQueuePush(queue, letters + 1);
  EXPECT_EQ(PCQueueLength(queue), 2);
  EXPECT_EQ(PCQueuePop(queue), letters);
  EXPECT_EQ(PCQueueTop(queue), letters + 1);
  EXPECT_FALSE(PCQueueEmpty(queue));
  EXPECT_EQ(PCQueuePop(queue), letters + 1);
  EXPECT_EQ(PCQueuePop(queue), nullptr);
  EXPECT_TRUE(PCQueueEmpty(queue));
  PCQueueDestroy(queue);
}

// --- Hilbert curves --------------------------------------------------------------------------------------------------

TEST(Hilbert, neighbours_follow_each_other_and_cubes_are_filled) {
  for (int dim = 1; dim <= 5; ++dim) {
    std::set<std::vector<int>> points;
    std::vector<int> before(static_cast<std::size_t>(dim));
    const int side = dim == 1 ? 64 : dim == 2 ? 16 : dim == 3 ? 8 : 4;
    int count = 1;
    for (int axis = 0; axis < dim; ++axis) count *= side;
    for (int i = 0; i < count; ++i) {
      const std::vector<int> at = int_to_Hilbert(i, dim);
      ASSERT_EQ(at.size(), before.size());
      int distance = 0;
      for (int axis = 0; axis < dim; ++axis) {
        ASSERT_GE(at[axis], 0);
        ASSERT_LT(at[axis], side);
        distance += std::abs(at[axis] - before[axis]);
      }
      ASSERT_EQ(distance, i == 0 ? 0 : 1) << "point " << i << " of " << dim << " dimensions";
      ASSERT_EQ(Hilbert_to_int(at, dim), i);
      points.insert(at);
      before = at;
    }
    EXPECT_EQ(static_cast<int>(points.size()), count);
  }
}

TEST(Hilbert, points_are_those_of_charm) {
  EXPECT_EQ(int_to_Hilbert(23, 2), (std::vector<int>{6, 1}));
  EXPECT_EQ(int_to_Hilbert(200, 2), (std::vector<int>{13, 5}));
  EXPECT_EQ(int_to_Hilbert(19, 3), (std::vector<int>{2, 3, 0}));
  EXPECT_EQ(int_to_Hilbert(500, 3), (std::vector<int>{7, 3, 0}));
  EXPECT_EQ(int_to_Hilbert(599, 4), (std::vector<int>{3, 4, 7, 3}));
}

TEST(Hilbert, large_numbers_come_back) {
  for (int dim = 1; dim <= 31; ++dim)
    for (const int i : {0, 1, 12345, 99999999, 2147483647}) EXPECT_EQ(Hilbert_to_int(int_to_Hilbert(i, dim), dim), i);
}

TEST(Hilbert, what_is_no_point_is_said) {
  EXPECT_DEATH(int_to_Hilbert(-1, 2), "point -1 of a Hilbert curve");
  EXPECT_DEATH(int_to_Hilbert(1, 0), "a Hilbert curve of 0 dimensions");
  EXPECT_DEATH(Hilbert_to_int({1, 2}, 3), "a point of 2 coordinates on a Hilbert curve of 3 dimensions");
  EXPECT_DEATH(Hilbert_to_int({1, -2}, 2), "a point with coordinate -2");
  EXPECT_DEATH(Hilbert_to_int({1 << 20, 1 << 20}, 2), "2 dimensions is no int");
}

}  // namespace
