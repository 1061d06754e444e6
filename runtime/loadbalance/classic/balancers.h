// The balancers of a program's own, classes over CentralLB, DistBaseLB or HybridBaseLB, as strategies among others.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/loadbalance/database.h"

namespace periapt {
class Pe;
}

namespace periapt::loadbalance {

void register_base_classes();
// The classes of the program that are balancers. Which names they are registered under is known when its initnode
// functions have run.
std::vector<std::string> class_balancers();
// Makes this PE's members of those that were asked for.
void make_balancers(Pe& pe);
// Lets this PE's member of a DistBaseLB decide; it answers by Balancer::decided().
void begin_distributed(int group, const LoadDatabase& own);
// The name of the balancer whose member here is to decide this step, and has not; empty: none.
std::string undecided(std::uint32_t step);
// Whether this PE's member of a balancer is there; it is where the program has not made it, or there is none (0).
bool has_member(int group);
// Tells this PE's member of the step's balancer, if that is a class, that the step is over. 0: it is none.
void end_step(int group, bool balanced);

}  // namespace periapt::loadbalance
