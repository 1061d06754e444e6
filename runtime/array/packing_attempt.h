// Calls a program's pup() where what goes wrong in it need not end the run.
#pragma once
#include <exception>
#include <string>

#include "runtime/pup/error.h"

namespace periapt {

// What `function` says is wrong, or what it has thrown, PUP's own errors too, as what follows "pup() of Piece[3] ...".
template <class Function>
std::string attempt_pup(Function&& function) {
  const PUP::errors_throw here;
  try {
    return function();
  } catch (const PUP::error& e) {
    return std::string("goes wrong: ") + e.what();
  } catch (const std::exception& e) {
    return std::string("has thrown an exception: ") + e.what();
  } catch (...) {
    return "has thrown an exception that is no std::exception";
  }
}

}  // namespace periapt
