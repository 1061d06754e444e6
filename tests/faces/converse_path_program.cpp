// Arrays of threads (CPath): a grid whose threads send along rows and columns, and reduce; one thread alone gets the
// results and ends the run. The first argument names a mistake.
#include <conv-cpath.h>

#include <cstring>
#include <string>

#define CHECK(what) CmiEnforceMsg(what, "on PE %d", CmiMyPe())

CpvDeclare(int, grid_start);
CpvDeclare(int, grid_map);
CpvDeclare(int, alone_start);
CpvDeclare(int, add);
CpvDeclare(int, stop_index);

enum { rows = 3, columns = 5, rounds = 4 };
enum { tag_begin = 1, tag_row, tag_column, tag_sum, tag_row_sum, tag_pair, tag_other };
struct Arrays {
  CPath grid, alone;
};

static void take(void* message, void* to, int bytes) {
  int length;
  void* from;
  CPathMsgDecodeBytes(message, &length, &from);
  CHECK(length == bytes);
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
  CPathMsgFree(message);
}
static int take_number(void* message) {
  int number;
  take(message, &number, sizeof number);
  return number;
}
static unsigned int map_grid(CPath* path, int* at) {
  CHECK(CPathArrayDimensions(path) == 2 && CPathArrayDimension(path, 1) == columns);
  return static_cast<unsigned>(at[0] * columns + at[1]) * 7;  // taken by the number of PEs
}
static void add_up(int count, void* mine, void* other) {
  for (int i = 0; i < count; ++i) static_cast<double*>(mine)[i] += static_cast<double*>(other)[i];
}

static void grid_thread(CPath* self, int* at) {
  Arrays arrays;
  take(CPathRecv(CPATH_TAG, tag_begin, CPATH_END), &arrays, sizeof arrays);
  CHECK(arrays.grid.seqno == self->seqno && at[0] < rows && at[1] < columns);
  // The first of each row tells it, by two tags, of which one is received by any.
  if (at[1] == 0)
    CPathSend(CPATH_DEST, &arrays.grid, at[0], CPATH_ALL, CPATH_TAGS, 2, tag_row, at[0], CPATH_BYTES, int(sizeof at[0]),
              &at[0], CPATH_END);
  const int wild[2] = {tag_row, CPATH_WILD};
  CHECK(take_number(CPathRecv(CPATH_TAGVEC, 2, wild, CPATH_END)) == at[0]);
  // Down the columns, in order. What was sent later and is asked for first does not get lost.
  const int below = (at[0] + 1) % rows;
  for (int n = 0; n < 10; ++n)
    CPathSend(CPATH_DEST, &arrays.grid, below, at[1], CPATH_TAG, tag_column, CPATH_BYTES, int(sizeof n), &n, CPATH_END);
  CPathSend(CPATH_DEST, &arrays.grid, below, at[1], CPATH_TAG, tag_other, CPATH_BYTES, 0, nullptr, CPATH_END);
  take(CPathRecv(CPATH_TAG, tag_other, CPATH_END), nullptr, 0);
  for (int n = 0; n < 10; ++n) CHECK(take_number(CPathRecv(CPATH_TAG, tag_column, CPATH_END)) == n);
  // Sums over all, several with the same tag that nothing keeps apart, and over each row, which all of it gets.
  for (int round = 0; round < rounds; ++round) {
    const double mine[2] = {double(at[0] * columns + at[1]), double(round)};
    CPathReduce(CPATH_OVER, &arrays.grid, CPATH_ALL, CPATH_ALL, CPATH_TAG, tag_sum, CPATH_REDUCER, CpvAccess(add),
                CPATH_DEST, &arrays.alone, CPATH_BYTES, 2, int(sizeof mine[0]), mine, CPATH_END);
  }
  const double mine = at[1];
  CPathReduce(CPATH_OVER, &arrays.grid, at[0], CPATH_ALL, CPATH_TAGS, 2, tag_row_sum, at[0], CPATH_REDUCER,
              CpvAccess(add), CPATH_BYTES, 1, int(sizeof mine), &mine, CPATH_DEST, &arrays.grid, at[0], CPATH_ALL,
              CPATH_END);
  void* const message = CPathRecv(CPATH_TAGS, 2, tag_row_sum, at[0], CPATH_END);
  int count, bytes;
  double* sum;
  CPathMsgDecodeReduction(message, &count, &bytes, &sum);
  CHECK(count == 1 && bytes == sizeof *sum && *sum == columns * (columns - 1) / 2);
  CPathMsgFree(message);
  CPathSend(CPATH_DEST, &arrays.alone, CPATH_TAG, tag_pair, CPATH_BYTES, int(2 * sizeof(int)), at, CPATH_END);
}

static void alone_thread(CPath* self, int*) {
  CHECK(CPathArrayDimensions(self) == 0 && CmiMyPe() == CmiNumPes() - 1);
  const int all = rows * columns;
  for (int round = 0; round < rounds; ++round) {
    void* const message = CPathRecv(CPATH_TAG, tag_sum, CPATH_END);
    int count, bytes;
    double* sums;
    CPathMsgDecodeReduction(message, &count, &bytes, &sums);
    CHECK(count == 2 && sums[0] == all * (all - 1) / 2 && sums[1] == all * round);
    CPathMsgFree(message);
  }
  for (int n = 0; n < all; ++n) {
    int pair[2];
    take(CPathRecv(CPATH_TAG, tag_pair, CPATH_END), pair, sizeof pair);
    CHECK(pair[0] >= 0 && pair[0] < rows && pair[1] >= 0 && pair[1] < columns);
  }
  CmiPrintf("all as expected\n");
  void* const stop = CmiAlloc(CmiMsgHeaderSizeBytes);
  CmiInitMsgHeader(stop, CmiMsgHeaderSizeBytes);
  CmiSetHandler(stop, CpvAccess(stop_index));
  CmiSyncBroadcastAllAndFree(CmiMsgHeaderSizeBytes, stop);
}

static void mistake(const std::string& name, Arrays& a) {
  int n = 0;
  if (name == "index") CPathSend(CPATH_DEST, &a.grid, 0, columns, CPATH_TAG, 1, CPATH_BYTES, 4, &n, CPATH_END);
  if (name == "clause") CPathSend(CPATH_TAG, 1, CPATH_BYTES, 4, &n, CPATH_END);
  if (name == "twice") CPathSend(CPATH_TAG, 1, CPATH_TAG, 2, CPATH_END);
  if (name == "outside") CPathRecv(CPATH_TAG, 1, CPATH_END);
  if (name == "pe") CPathMakeThread(&a.alone, CpvAccess(alone_start), CmiNumPes());
  if (name == "sizes") CPathMakeArray(&a.grid, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0);
}

static void stop_arrived(void* message) {
  CmiFree(message);
  CsdExitScheduler();
}

static void start(int argc, char** argv) {
  CpvInitialize(int, grid_start);
  CpvInitialize(int, grid_map);
  CpvInitialize(int, alone_start);
  CpvInitialize(int, add);
  CpvInitialize(int, stop_index);
  CpvAccess(stop_index) = CmiRegisterHandler(stop_arrived);
  CpvAccess(grid_start) = CPathRegisterThreadFn(grid_thread);
  CpvAccess(alone_start) = CPathRegisterThreadFn(alone_thread);
  CpvAccess(grid_map) = CPathRegisterMapper(map_grid);
  CpvAccess(add) = CPathRegisterReducer(add_up);
  if (CmiMyPe() != 0) return;
  Arrays a;
  CPathMakeArray(&a.grid, CpvAccess(grid_start), CpvAccess(grid_map), rows, columns, 0);
  CPathMakeThread(&a.alone, CpvAccess(alone_start), CmiNumPes() - 1);
  if (argc > 1) mistake(argv[1], a);
  CPathSend(CPATH_DEST, &a.grid, CPATH_ALL, CPATH_ALL, CPATH_TAG, tag_begin, CPATH_BYTES, int(sizeof a), &a, CPATH_END);
}

int main(int argc, char** argv) { ConverseInit(argc, argv, start, 0, 0); }
