// The texts of the two PMI wires, without sockets: commands to write and answers to read. What is read comes from
// outside: anything may be in it, and what makes no sense is simply not found in the result.
//
// PMI-1: a line of words, "cmd=put kvsname=k key=a value=b\n".
// PMI-2: six characters that say how long the rest is, then "cmd=kvs-put;key=a;value=b;", where ;; is a semicolon.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace periapt::bootstrap {

using PmiFields = std::map<std::string, std::string>;
using PmiPairs = std::vector<std::pair<std::string, std::string>>;

PmiFields parse_pmi1(const std::string& line);
std::string format_pmi1(const PmiPairs& fields);

PmiFields parse_pmi2(const std::string& record);
/// With its length in front.
std::string format_pmi2(const PmiPairs& fields);

inline constexpr std::size_t kPmi2LengthDigits = 6;
/// The length in front of a PMI-2 record; -1: that is none.
long parse_pmi2_length(const std::string& six_characters);

/// The number in a field; `fallback` if there is none.
long pmi_number(const PmiFields& fields, const std::string& name, long fallback);

/// What came from outside, for a message: quoted, not too long, and without what is not printable.
std::string shown(const std::string& bytes);

/// Bytes as text that both wires and PMIx carry unchanged (the alphabet of base64url, without padding), and back.
std::string encode_text(const std::string& bytes);
bool decode_text(const std::string& text, std::string& bytes);

}  // namespace periapt::bootstrap
