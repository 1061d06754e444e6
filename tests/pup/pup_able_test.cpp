// Objects of PUP::able classes keep their class through a base pointer, in all the ways such a class can be declared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pup_test_util.h"

namespace pup_test {

class Shape : public PUP::able {
 public:
  int id = 0;
  Shape() {}
  Shape(CkMigrateMessage* m) : PUP::able(m) {}
  PUPable_abstract(Shape);
  virtual double area() const = 0;
  void pup(PUP::er& p) override {
    PUP::able::pup(p);
    p | id;
  }
};

class Square : public Shape {
 public:
  double side = 0;
  Square() {}
  Square(CkMigrateMessage* m) : Shape(m) {}
  PUPable_decl(Square);
  double area() const override { return side * side; }
  void pup(PUP::er& p) override {
    Shape::pup(p);
    p | side;
  }
};

/// Derived from a concrete class, and a second base before PUP::able in memory.
struct Tagged {
  virtual ~Tagged() {}
  int tag = 0;
};
class Cube : public Tagged, public Square {
 public:
  std::string name;
  Cube() {}
  Cube(CkMigrateMessage* m) : Square(m) {}
  PUPable_decl(Cube);
  void pup(PUP::er& p) override {
    Square::pup(p);
    p | tag;
    p | name;
  }
};

/// Declared inside, operators outside.
class Dot : public Shape {
 public:
  Dot() {}
  Dot(CkMigrateMessage* m) : Shape(m) {}
  PUPable_decl_inside(Dot);
  double area() const override { return 0; }
};
PUPable_decl_outside(Dot)

template <class A, class B>
class Pair : public Shape {
 public:
  A a{};
  B b{};
  Pair() {}
  Pair(CkMigrateMessage* m) : Shape(m) {}
  PUPable_decl_template(SINGLE_ARG(Pair<A, B>));
  double area() const override { return 2; }
  void pup(PUP::er& p) override {
    Shape::pup(p);
    p | a;
    p | b;
  }
};

class Unregistered : public Shape {
 public:
  Unregistered() {}
  Unregistered(CkMigrateMessage* m) : Shape(m) {}
  PUPable_decl(Unregistered);
  double area() const override { return 0; }
};

/// Not in any pup: only its name's hash arrives.
class Other : public PUP::able {
 public:
  Other() {}
  Other(CkMigrateMessage* m) : PUP::able(m) {}
  PUPable_decl(Other);
};

PUPable_def(Square)
PUPable_def(Cube)
PUPable_def(Dot)
PUPable_def(Unregistered)
PUPable_def(Other)
typedef Pair<int, std::string> IntString;
}  // namespace pup_test
PUPable_def_template(pup_test::IntString)

namespace pup_test {
namespace {

class Able : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    PUPable_reg(Square);
    PUPable_reg(Cube);
    PUPable_reg(Dot);
    PUPable_reg(Other);
    PUPable_reg2(IntString, "Pair<int, std::string>");
  }
  ThrowErrors on;
};

TEST_F(Able, KeepsItsClassThroughABasePointer) {
  Cube cube;
  cube.id = 1;
  cube.side = 2;
  cube.tag = 3;
  cube.name = "four";
  Shape* in = &cube;
  for (auto way : {through_memory<Shape*>, through_er<Shape*>, through_disk<Shape*>, through_text_file<Shape*>,
                   from_big_endian<Shape*>, through_network<Shape*>}) {
    Shape* out = nullptr;
    way(in, out);
    Cube* back = dynamic_cast<Cube*>(out);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->id, 1);
    EXPECT_EQ(back->area(), 4);
    EXPECT_EQ(back->tag, 3);
    EXPECT_EQ(back->name, "four");
    delete out;
  }
}

TEST_F(Able, NullStaysNull) {
  Shape *in = nullptr, *out = reinterpret_cast<Shape*>(&on);
  through_er(in, out);
  EXPECT_EQ(out, nullptr);
}

TEST_F(Able, PointerToPUPableItself) {
  Square square;
  square.side = 3;
  PUP::able *in = &square, *out = nullptr;
  through_er(in, out);
  EXPECT_EQ(dynamic_cast<Square&>(*out).side, 3);
  delete out;
}

TEST_F(Able, OperatorsOutsideTheClass) {
  Dot dot, *in = &dot, *out = nullptr;
  dot.id = 5;
  through_er(in, out);
  EXPECT_EQ(out->id, 5);
  delete out;
}

TEST_F(Able, InstancesOfClassTemplates) {
  IntString pair;
  pair.a = 1;
  pair.b = "b";
  Shape *in = &pair, *out = nullptr;
  through_er(in, out);
  EXPECT_EQ(dynamic_cast<IntString&>(*out).b, "b");
  delete out;
}

TEST_F(Able, ContainersAndSmartPointersOfBases) {
  std::vector<std::unique_ptr<Shape>> in, out;
  in.push_back(std::make_unique<Cube>());
  in.push_back(std::make_unique<Square>());
  in.push_back(nullptr);
  through_er(in, out);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_TRUE(dynamic_cast<Cube*>(out[0].get()));
  EXPECT_TRUE(dynamic_cast<Square*>(out[1].get()));
  EXPECT_FALSE(out[2]);

  std::vector<Shape*> raw{in[0].get(), nullptr}, back;
  through_er(raw, back);
  ASSERT_EQ(back.size(), 2u);
  EXPECT_TRUE(dynamic_cast<Cube*>(back[0]));
  delete back[0];

  std::shared_ptr<Shape> shared = std::make_shared<Cube>(), other;
  through_er(shared, other);
  EXPECT_TRUE(dynamic_cast<Cube*>(other.get()));

  std::map<int, Shape*> map{{1, in[1].get()}}, map_back;
  through_er(map, map_back);
  EXPECT_TRUE(dynamic_cast<Square*>(map_back.at(1)));
  delete map_back.at(1);
}

TEST_F(Able, CkPointerAndCkReference) {
  Cube cube;
  cube.name = "c";
  CkPointer<Shape> in(&cube), out;
  through_er(in, out);
  std::unique_ptr<Shape> taken(static_cast<Shape*>(out));
  EXPECT_EQ(dynamic_cast<Cube&>(*taken).name, "c");

  CkReference<Shape> ref(cube), back;
  through_er(ref, back);
  EXPECT_EQ(dynamic_cast<Cube&>(static_cast<Shape&>(back)).name, "c");
}

TEST_F(Able, Clone) {
  Cube cube;
  cube.name = "original";
  std::unique_ptr<PUP::able> copy(cube.clone());
  EXPECT_EQ(dynamic_cast<Cube&>(*copy).name, "original");
}

TEST_F(Able, AnUnregisteredClassIsNamedWhenPacked) {
  Unregistered object;
  Shape* in = &object;
  try {
    pack_through_er(in);
    FAIL();
  } catch (const PUP::error& e) {
    EXPECT_EQ(e.why, PUP::error::kind::unknown_type);
    EXPECT_THAT(e.what(), ::testing::HasSubstr("Unregistered"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("PUPable_reg(Name)"));
  }
}

TEST_F(Able, AnUnknownHashIsShownWhenUnpacked) {
  PUP::able::PUP_ID id("NobodyRegisteredThis");
  std::vector<char> bytes(id.hash, id.hash + id.len);
  PUP::fromMem p(bytes.data(), bytes.size());
  Shape* out = nullptr;
  try {
    p | out;
    FAIL();
  } catch (const PUP::error& e) {
    EXPECT_EQ(e.why, PUP::error::kind::unknown_type);
    EXPECT_THAT(e.what(), ::testing::ContainsRegex("0x[0-9a-f]+"));
    EXPECT_THAT(e.what(), ::testing::HasSubstr("did not run here"));
  }
}

TEST_F(Able, AnObjectOfAnotherHierarchyIsRefused) {
  Other other;
  PUP::able* in = &other;
  std::vector<char> bytes = pack_through_er(in);
  PUP::fromMem p(bytes.data(), bytes.size());
  Shape* out = nullptr;
  EXPECT_THROW(p | out, PUP::error);
}

TEST_F(Able, HashesDifferAndAreNeverNull) {
  EXPECT_NE(PUP::able::PUP_ID("a"), PUP::able::PUP_ID("b"));
  EXPECT_NE(PUP::able::PUP_ID(""), PUP::able::PUP_ID());
  EXPECT_EQ(PUP::able::PUP_ID("Square"), Square().get_PUP_ID());
}

TEST_F(Able, RegisteringTwiceIsHarmless) {
  PUPable_reg(Square);
  Square square;
  std::unique_ptr<PUP::able> copy(square.clone());
  EXPECT_TRUE(dynamic_cast<Square*>(copy.get()));
}

}  // namespace
}  // namespace pup_test
