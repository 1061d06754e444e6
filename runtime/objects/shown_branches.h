// What CkLocalBranchOther() sees: the members of groups and the managers of arrays that the PEs of a process have made.
// A PE's own table of them is its alone, and may move in memory while another PE looks.
#pragma once

namespace periapt {

class Pe;

// Of this PE: it is made, and other PEs may find it from now on.
void show_branch(const Pe& pe, int group, void* branch);
// Of the PE of that rank; null where it is not made yet.
void* shown_branch(const Pe& here, int rank, int group);

}  // namespace periapt
