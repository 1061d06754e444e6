// The command line as programs read it. Plain C, and C++17: reached from converse.h.
#pragma once
#include "base/cmk.h"

#ifdef __cplusplus
extern "C" {
#endif

// Each looks for `name`, takes it and its value out of argv (which stays null-terminated) and answers 1; or 0 with
// *value as it was. Integers: "-n 5", "-n5", "-n=5", also 0x5 and 05. A value that is missing or makes no sense ends
// the run. The texts of the ...Desc forms say what the option is for.
int CmiGetArgInt(char** argv, const char* name, int* value);
int CmiGetArgIntDesc(char** argv, const char* name, int* value, const char* text);
int CmiGetArgLong(char** argv, const char* name, CmiInt8* value);
int CmiGetArgLongDesc(char** argv, const char* name, CmiInt8* value, const char* text);
int CmiGetArgDouble(char** argv, const char* name, double* value);
int CmiGetArgDoubleDesc(char** argv, const char* name, double* value, const char* text);
int CmiGetArgString(char** argv, const char* name, char** value);
int CmiGetArgStringDesc(char** argv, const char* name, char** value, const char* text);
int CmiGetArgFlag(char** argv, const char* name);
int CmiGetArgFlagDesc(char** argv, const char* name, const char* text);
void CmiArgGroup(const char* parent, const char* group);
int CmiArgGivingUsage(void);
void CmiDeleteArgs(char** argv, int count);  // the first `count`
int CmiGetArgc(char** argv);
char** CmiCopyArgs(char** argv);       // a new array of the same strings, to free()
double CmiReadSize(const char* text);  // "64", "8k", "2M", "1G": bytes

#ifdef __cplusplus
}
#endif
