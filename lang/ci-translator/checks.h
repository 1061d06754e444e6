// The rules of the language that the grammar does not hold, in three steps over the tree.
#pragma once

#include "lang/ci-translator/ast.h"
#include "lang/ci-translator/diagnostics.h"

namespace periapt::ci {

/// Takes out what may be written but is understood anyway (a constructor from CkMigrateMessage*), adds what may be left
/// out (CkArgMsg* of a mainchare), and numbers the entries.
void settle(File& file, Diagnostics& out);

/// Mistakes: duplicates, pointers that cannot be sent, attributes that do not fit, missing return types ...
void check(const File& file, Diagnostics& out);

/// The bodies of entries: whens that wait for what is not there, bodies that no message can begin (check_bodies.cpp).
void checkBodies(const File& file, Diagnostics& out);

/// Adds to [python] chares the entries that requests of clients come to.
void addPythonRequests(File& file);

/// What is read but not translated yet is an error that says so.
void checkSupported(const File& file, Diagnostics& out);

}  // namespace periapt::ci
