// Running other programs: arguments as they are, no shell.
#pragma once

#include <string>
#include <vector>

namespace periapt::charmc {

/// Runs argv[0], found in PATH, and waits. Returns its exit status; 127 when it could not be started, 128 + n when a
/// signal ended it. With `output`, what it prints on stdout is collected there.
int runProcess(const std::vector<std::string>& argv, std::string* output = nullptr);

/// The same, with what it prints on stderr collected in `errors`, and shown as it comes.
int runProcessShowingErrors(const std::vector<std::string>& argv, std::string& errors);

/// The same, collected only.
int runProcessHoldingErrors(const std::vector<std::string>& argv, std::string& errors);

/// The same, with what it prints on both collected; that it could not be started is not said.
int runProcessQuietly(const std::vector<std::string>& argv, std::string& printed);

/// The words of a text that names a program, such as "ccache g++ -DX". A file of that whole name is one word, spaces
/// and all. Never empty.
std::vector<std::string> commandWords(const std::string& text);

/// The command as a person would type it.
std::string commandText(const std::vector<std::string>& argv);

}  // namespace periapt::charmc
