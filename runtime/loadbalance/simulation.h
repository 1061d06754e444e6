// +LBSim: what strategies make of steps that +LBDump has written, in a program that does not run.
#pragma once

namespace periapt::loadbalance {

// As the command line says; on PE 0, once the program's own balancers have been made. A file that is none ends the run.
void simulate();

}  // namespace periapt::loadbalance
