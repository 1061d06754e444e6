// Between the load database and the statistics of Charm++.
#pragma once
#include "runtime/loadbalance/classic/base_lb.h"
#include "runtime/loadbalance/database.h"

namespace periapt::loadbalance {

// What our own code balances, of statistics: what +LBUseCpuTime says.
bool balances_processor_time();
double load_of(const LDObjData& object);
double background_of(const BaseLB::ProcStats& pe);

BaseLB::LDStats statistics_of(const LoadDatabase& database);
LDObjData data_of(const LoadDatabase& database, std::size_t object);
// Objects on places[i], their loads and the PEs. What is on no PE is put where there is least to do.
LoadDatabase database_of(const BaseLB::LDStats& stats, const int* places);
// Messages between objects; `pe_of`: where each is.
std::vector<LDCommData> messages_of(const LoadDatabase& database);

}  // namespace periapt::loadbalance
