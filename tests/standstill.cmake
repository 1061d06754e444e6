# Read by ctest before it runs anything: a run in which nothing moves any more ends, with a sentence that says what waits
# for what, instead of keeping its test waiting.
set(ENV{PERIAPT_STANDSTILL} end)
