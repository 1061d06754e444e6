#!/bin/sh
# testrun: passes everything on to ./charmrun with its exit status, and skips what cannot be shared evenly.
# usage: testrun_test.sh path/to/testrun
set -u
testrun="$1"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
printf '#!/bin/sh\necho "ran: $*"\nexit 3\n' > charmrun
chmod +x charmrun

fail() { echo "FAILED: $1"; exit 1; }
out=$("$testrun" +p4 ./pgm +ppn 2 "a b" 2> err)
[ $? -eq 3 ] || fail "the exit status of the program is passed on"
[ "$out" = "ran: +p4 ./pgm +ppn 2 a b" ] || fail "arguments are passed on, found: $out"
grep -q real err || fail "the time is shown"
for arguments in "+p3 ++ppn 2" "+p 3 +ppn2" "++p3 +ppn 2"; do
  out=$("$testrun" $arguments ./pgm) || fail "a skipped run succeeds ($arguments)"
  case "$out" in *skipped*) ;; *) fail "a run is skipped when +ppn does not divide +p ($arguments)" ;; esac
done
"$testrun" +p4 +ppn 4 ./pgm > /dev/null 2>&1
[ $? -eq 3 ] || fail "+ppn that divides +p runs"
echo "passed"
