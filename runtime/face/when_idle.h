// [whenidle] entries: methods that run when a PE has nothing else to do. C++17: reached from charm++.h.
#pragma once

namespace periapt {
typedef bool (*IdleFunction)(void* object);
}

// What the generated code says of an entry [whenidle].
void CkRegisterIdleEntry(int ep, periapt::IdleFunction function);

// Has `ep`, which is [whenidle], run on the object when this PE is idle; again and again as long as it returns true.
// The object must stay on this PE until then.
void CkCallWhenIdle(int ep, void* object);
