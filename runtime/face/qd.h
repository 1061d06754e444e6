// Counts of quiescence, for libraries that keep what programs give them: it waits until as much has been processed as
// was created. C++17: reached from qd.h.
#pragma once

void QdCreate(int n);
void QdProcess(int n);
